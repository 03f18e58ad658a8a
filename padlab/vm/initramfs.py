# SPDX-License-Identifier: GPL-2.0-only
"""Initramfs images: busybox, one script per role, and the modules it loads.

Images are written here in cpio's newc format, with fixed times and owners and no compression, so that equal
input gives an equal file and the kernel under test spends its time on memory, not on gunzip.  A file's name
carries the hash of its content: an image that exists is the right one.
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from padlab.core import foreign, packages, paths
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.kernel import native, others, tree
from padlab.kernel.arch import Arch

GUEST = Path(__file__).resolve().parent.parent / "guest"
# Roles that are about one program of the kselftests.
PROGRAMS = {"hugecost": "hugepages"}
ROLES = sorted(path.stem for path in GUEST.glob("*.sh") if path.stem != "oracle.early")


@dataclass(frozen=True)
class Entry:
    """One member of the archive; ``data`` is a symlink's target, too."""

    name: str
    mode: int
    data: bytes = b""
    rdev: tuple[int, int] = (0, 0)


def directory(name: str) -> Entry:
    return Entry(name, stat.S_IFDIR | 0o755)


def regular(name: str, content: bytes | str | Path, *, executable: bool = False) -> Entry:
    data = content.read_bytes() if isinstance(content, Path) else content
    data = data.encode() if isinstance(data, str) else data
    return Entry(name, stat.S_IFREG | (0o755 if executable else 0o644), data)


def symlink(name: str, target: str) -> Entry:
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def char_device(name: str, major: int, minor: int) -> Entry:
    return Entry(name, stat.S_IFCHR | 0o600, b"", (major, minor))


def cpio(entries: Iterable[Entry]) -> bytes:
    out = bytearray()
    for ino, entry in enumerate(_with_parents(entries), start=1):
        _append(out, entry, ino)
    _append(out, Entry("TRAILER!!!", 0), 0)
    return bytes(out)


def _with_parents(entries: Iterable[Entry]) -> list[Entry]:
    members: dict[str, Entry] = {}
    for entry in entries:
        for parent in reversed(Path(entry.name).parents):
            if str(parent) != ".":
                members.setdefault(str(parent), directory(str(parent)))
        members[entry.name] = entry
    return list(members.values())


def _append(out: bytearray, entry: Entry, ino: int) -> None:
    name = entry.name.encode() + b"\0"
    nlink = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (ino, entry.mode, 0, 0, nlink, 0, len(entry.data), 0, 0, *entry.rdev, len(name), 0)
    out += b"070701" + b"".join(b"%08X" % field for field in fields)
    for part in (name, entry.data):
        out += part
        out += b"\0" * (-len(out) % 4)


def ensure(build: builds.Build, role: str, command: str = "") -> Path:
    """The image of a role; ``command`` is what the role of that name runs."""
    if role not in ROLES:
        raise LabError("initramfs", f"no role '{role}'", f"use one of: {', '.join(ROLES)}")
    packages.ensure("guest")
    image = cpio([*_base(role, build.arch), *_extras(build, role), *_command(command)])
    path = _path(role, image)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_bytes(image)
        partial.rename(path)
    return path


def planned(role: str, arch: Arch, command: str = "") -> Path:
    """Where the image of a role that needs nothing of the kernel would be; nothing is installed."""
    there = shutil.which("busybox") and not arch.foreign
    return _path(role, cpio([*_base(role, arch), *_command(command)]) if there else b"")


def _path(role: str, image: bytes) -> Path:
    return paths.base().initramfs / f"{role}-{hashlib.sha256(image).hexdigest()[:16]}.cpio"


def _base(role: str, arch: Arch) -> list[Entry]:
    """Busybox under all of its names, the init and the role's own script."""
    host = _program("busybox").resolve()  # the package group makes it the static one
    # Another architecture's is of the same Debian, and so has the same names.
    applets = subprocess.run([host, "--list"], check=True, capture_output=True, text=True).stdout.split()
    busybox = foreign.extract("busybox-static", arch.name, "bin/busybox") if arch.foreign else host
    return [
        *(directory(name) for name in ("dev", "proc", "sys", "tmp")),
        char_device("dev/console", 5, 1),
        char_device("dev/null", 1, 3),
        char_device("dev/ttyS1", 4, 65),  # see channel.py
        regular("bin/busybox", busybox, executable=True),
        *(symlink(f"bin/{name}", "busybox") for name in sorted(applets) if name != "busybox"),
        regular("init", GUEST / "init", executable=True),
        regular("role", GUEST / f"{role}.sh"),
    ]


def _command(command: str) -> list[Entry]:
    return [regular("command", f"{command}\n")] if command else []


def _program(name: str) -> Path:
    path = shutil.which(name)
    if path is None:
        raise LabError("initramfs", f"{name} is not in PATH", "add /bin and /usr/bin to PATH")
    return Path(path)


def _extras(build: builds.Build, role: str) -> list[Entry]:
    if role == "oracle":
        modules = [builds.ensure_module(build, GUEST / name) for name in ("oracle", "online")]
        early = regular("early", GUEST / "oracle.early.sh")
        return [*(regular(f"lib/{module.name}", module) for module in modules), early]
    if role == "kunit":
        return _modules(build, "padata_mt_kunit", "kunit")
    if role == "selftest":
        return [*_modules(build, "test_padata_mt"), *_selftests(build.tree, build.arch)]
    if role == "jobcost":
        return _modules(build, "test_padata_mt")
    if role in PROGRAMS:
        source = tree.ensure_tree("patched") / f"tools/testing/selftests/padata/{PROGRAMS[role]}.c"
        return [regular(f"bin/{PROGRAMS[role]}", native.static(source, build.arch), executable=True)]
    if role == "others":
        return [*_kselftests(), *_of_host("bash", "lscpu", "pgrep", "fmt")]
    if role in ("handover", "users"):
        kexec = native.static(GUEST / "kexec.c", build.arch)
        programs = [regular("bin/kexec", kexec, executable=True), regular("kernel", build.image)]
        if role == "handover":
            return [*programs, regular("next", cpio(_base("boot", build.arch)))]
        last = regular("next", cpio(_base(role, build.arch)))
        return [*programs, regular("next", cpio([*_base(role, build.arch), *programs, last]))]
    if role == "stress":
        packages.ensure("stress")
        return _of_host("stress-ng")
    return []


def _modules(build: builds.Build, required: str, *more: str) -> list[Entry]:
    """``more`` may be built in."""
    built = builds.modules(build)
    if required not in built:
        why = f"the kernel has no module '{required}'"
        todo = "look at the config fragments in configs/"
        raise LabError(f"initramfs for {build.kernel}-{build.config}", why, todo)
    return [regular(f"lib/{name}.ko", built[name]) for name in (*more, required) if name in built]


def _selftests(tree: Path, arch: Arch) -> list[Entry]:
    """The padata kselftests as ``make install`` lays them out, and which to run."""
    tests = tree / "tools/testing/selftests"
    makefile = tests / "padata/Makefile"
    if not makefile.exists():
        raise LabError(
            "initramfs for the kselftests", f"{makefile} is missing", "prepare the tree: ./lab tree"
        )
    text = makefile.read_text()
    progs = [*make_words(text, "TEST_PROGS"), *make_words(text, "TEST_PROGS_EXTENDED")]
    names = [*progs, *make_words(text, "TEST_FILES"), "settings"]
    files = [*(f"padata/{name}" for name in names), "kselftest/ktap_helpers.sh"]
    contents: dict[str, Path | bytes] = {file: tests / file for file in files if (tests / file).exists()}
    for name in make_words(text, "TEST_GEN_FILES"):
        contents[f"padata/{name}"] = native.static(tests / f"padata/{name}.c", arch)
    programs = (regular(f"selftests/{name}", it, executable=True) for name, it in contents.items())
    return [regular("selftests/progs", "\n".join(progs) + "\n"), *programs]


def _kselftests() -> list[Entry]:
    """Those of others.py, and the list that the role reads."""
    top = others.kselftests()
    lines = [
        "\t".join((name, str(program.limit_s), str(program.pages), str(program.gigantic), program.run))
        for name, program in others.programs().items()
    ]
    programs = (path for path in sorted(top.rglob("*")) if path.is_file())
    return [
        regular("others/programs", "\n".join(lines) + "\n"),
        *(regular(f"others/{path.relative_to(top)}", path, executable=True) for path in programs),
    ]


def _of_host(*names: str) -> list[Entry]:
    """Programs of the host, with their libraries where they were linked to look for them."""
    entries = {}
    for name in names:
        entries[f"bin/{name}"] = program = _program(name)
        said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        entries |= {path.lstrip("/"): Path(path) for path in libraries(said)}
    return [regular(name, path, executable=True) for name, path in entries.items()]


def libraries(ldd: str) -> list[str]:
    return re.findall(r"^\s+(?:\S+ => )?(/\S+) \(0x", ldd, re.MULTILINE)


def make_words(makefile: str, variable: str) -> list[str]:
    """The words that a kselftest's Makefile gives ``variable``, with := and +=."""
    pattern = rf"^{variable}\s*[:+]?=((?:.*\\\n)*.*)$"
    values = re.findall(pattern, makefile, re.MULTILINE)
    return " ".join(values).replace("\\\n", " ").split()
