# SPDX-License-Identifier: GPL-2.0-only
"""Architectures: the host's, x86-64, and others by Debian's cross compilers.

Kernels of those in ``ALL`` are booted; of the others only objects are compiled.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from padlab.core import packages, process

COMPILE = Path(__file__).with_name("compile.sh")


@dataclass(frozen=True)
class Arch:
    """``prefix`` is that of its compiler's name, ``target`` make's for its image, ``image`` where that is."""

    name: str  # Debian's
    fragment: str = ""  # of configs/: what only this architecture has
    target: str = ""
    image: str = ""
    prefix: str = ""
    packages: tuple[str, ...] = ()  # groups of packages to build for it
    kbuild: str = ""  # its name in the kernel, if that is another

    @property
    def compiler(self) -> str:
        return f"{self.prefix}gcc"

    @cached_property
    def identity(self) -> str:
        """All that its compiler says about itself: two compilers never share objects unnoticed."""
        packages.ensure("build", *self.packages)
        return process.run([self.compiler, "-v"], what="asking for the compiler's version")

    @property
    def foreign(self) -> bool:
        """Not the host's."""
        return bool(self.prefix)

    def make_variables(self) -> list[str]:
        """How make is told what to compile with: ccache, but for what it does not know all sources of.

        Rust's compiler and pahole are hidden: nothing here is made with them, but .config has the
        versions of those that are installed, and all objects depend on it.  Machines that differ
        in that would have nothing in common in ccache.
        """
        cross = [f"CROSS_COMPILE={self.prefix}"] if self.foreign else []
        if self is not X86_64:
            cross = [f"ARCH={self.kbuild or self.name}", *cross]
        return [*cross, f"CC={COMPILE} {self.compiler}", f"HOSTCC={COMPILE} gcc", "RUSTC=", "PAHOLE="]


X86_64 = Arch("x86_64", "x86.config", "bzImage", "arch/x86/boot/bzImage")
ARM64 = Arch("arm64", "arm64.config", "Image", "arch/arm64/boot/Image", "aarch64-linux-gnu-", ("arm64",))
S390X = Arch(
    "s390x", "s390x.config", "bzImage", "arch/s390/boot/bzImage", "s390x-linux-gnu-", ("s390x",), "s390"
)
ALL = {arch.name: arch for arch in (X86_64, ARM64, S390X)}

I386 = Arch("i386")
RISCV64 = Arch("riscv64", prefix="riscv64-linux-gnu-", packages=("riscv64",), kbuild="riscv")
PPC64EL = Arch("ppc64el", prefix="powerpc64le-linux-gnu-", packages=("ppc64el",), kbuild="powerpc")
