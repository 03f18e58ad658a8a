# SPDX-License-Identifier: GPL-2.0-only
"""A kernel configuration that the user gives: a .config as it is, or one of Debian's, packed or not."""

import gzip
import lzma
import os
import platform
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.kernel.kconfig import parse_config

BOOT = Path("/boot")
_END = "# end of Kernel hacking"
_HEADER = re.compile(r"^# Linux/(\S+) (\d+\.\d+)(\S*) Kernel Configuration$", re.MULTILINE)
# As kernels of Debian's are called, and configurations in its package linux-config-N.
_INSTALLED = re.compile(r"config-\d+\.\d\S*?-((?:cloud-|rt-)?amd64)")
_PACKAGED = re.compile(r"config\.amd64_(none|rt)_((?:cloud-)?amd64)")
_AMD64 = "config.amd64_none_amd64.xz"
_UNPACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress}


@dataclass(frozen=True)
class GivenConfig:
    """``flavour``: what Debian calls kernels with it, such as "cloud-amd64"; "" if it has no name there."""

    what: str  # for messages
    flavour: str
    text: str

    @property
    def options(self) -> dict[str, str]:
        return parse_config(self.text)

    @property
    def modules(self) -> int:
        return sum(value == "m" for value in self.options.values())


def read(path: Path) -> GivenConfig:
    """The configuration in a file, which has to be of the base in use, for x86."""
    what = f"kernel configuration {path}"
    try:
        data = path.read_bytes()
        text = _UNPACK.get(path.suffix, bytes)(data).decode().replace("\r\n", "\n")
    except OSError as err:
        raise _bad(what, err.strerror or "it cannot be unpacked") from None
    except (EOFError, lzma.LZMAError, zlib.error, UnicodeDecodeError):
        raise _bad(what, "it is no text, or damaged") from None
    check(text, what)
    return GivenConfig(what, flavour_of(path.name), text)


def check(text: str, what: str) -> None:
    header = _HEADER.search(text)
    if header is None or not parse_config(text):
        raise _bad(what, "it is no whole configuration: it does not say of which Linux it is")
    if _END not in text:
        raise _bad(what, "it is cut: its last section is not there")
    arch, series, rest = header.groups()
    wanted = source.package().series
    if series != wanted:
        raise _bad(what, f"it is of Linux {series}{rest}, and the kernel to build is {wanted}")
    if arch not in ("x86", "x86_64"):
        raise _bad(what, f"it is for {arch}, and packages are for x86_64")


def _bad(what: str, why: str) -> LabError:
    series = source.package().series
    debians = f"package linux-config-{series} has Debian's, /usr/src/linux-config-{series}/{_AMD64}"
    return LabError(what, why, f"give a .config of Linux {series}; {debians}")


def flavour_of(name: str) -> str:
    if match := _INSTALLED.fullmatch(name):
        return match[1]
    if match := _PACKAGED.fullmatch(name.removesuffix(".xz")):
        return match[2] if match[1] == "none" else f"{match[1]}-{match[2]}"
    return ""


def of_this_system() -> Path | None:
    """The file that the running kernel's configuration is in, if that is one of Debian's own."""
    path = BOOT / f"config-{platform.release()}"
    try:
        debian = platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:
        return None
    return path if debian and flavour_of(path.name) and os.access(path, os.R_OK) else None
