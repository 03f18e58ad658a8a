# SPDX-License-Identifier: GPL-2.0-only
"""Architectures that kernels are built for: the host's, x86-64, and arm64 by Debian's cross compiler."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from padlab.core import packages, process

COMPILE = Path(__file__).with_name("compile.sh")


@dataclass(frozen=True)
class Arch:
    """``prefix`` is that of its compiler's name, ``target`` make's for its image, ``image`` where that is."""

    name: str
    fragment: str  # of configs/: what only this architecture has
    target: str
    image: str
    prefix: str = ""
    packages: tuple[str, ...] = ()  # groups of packages to build for it

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
        cross = [f"ARCH={self.name}", f"CROSS_COMPILE={self.prefix}"] if self.foreign else []
        return [*cross, f"CC={COMPILE} {self.compiler}", f"HOSTCC={COMPILE} gcc", "RUSTC=", "PAHOLE="]


X86_64 = Arch("x86_64", "x86.config", "bzImage", "arch/x86/boot/bzImage")
ARM64 = Arch("arm64", "arm64.config", "Image", "arch/arm64/boot/Image", "aarch64-linux-gnu-", ("arm64",))
ALL = {arch.name: arch for arch in (X86_64, ARM64)}
