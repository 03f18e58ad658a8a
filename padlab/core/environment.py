# SPDX-License-Identifier: GPL-2.0-only
"""The Python environment, build/venv: one folder for each set of requirements/, made when first needed.

``./lab`` runs this module with the host's Python to make the environment with the set "base"; a command that
needs more asks for it by need().  A set is installed under another name and renamed when it is whole, so that
a run that is cut off leaves nothing that looks finished.

Until there is an environment only the standard library can be imported here.
"""

import contextlib
import fcntl
import re
import shutil
import site
import sys
from collections.abc import Iterator
from pathlib import Path

from padlab.core import host, paths, process
from padlab.core.errors import LabError

REQUIREMENTS = paths.ROOT / "requirements"
VENV = paths.SHARED / "venv"
MADE = "made"  # in a set: what it was made from; in VENV: the Python it was made with
# set -> what it is for, and the MiB that it takes while pip installs it
SETS = {"base": ("to run", 100), "dev": ("to test the lab", 300)}
_NO_ROOM = "no room on disk"
_NO_NETWORK = re.compile("(NewConnection|Proxy)Error|NameResolution|Temporary failure|(Connect|Read)Timeout")
# ./lab compares this with VENV/made: a venv whose Python was replaced by another version has no packages.
_PYTHON = 'import sys; print("%d.%d" % sys.version_info[:2], sys._base_executable)'


def need(*names: str) -> None:
    # Whoever runs the lab with a Python of their own sees to its packages, too.
    if not VENV.exists() or not VENV.samefile(sys.prefix):
        return
    if not all(_is_made(name) for name in names):
        with _locked():
            for name in names:
                if not _is_made(name):
                    _make_set(name)
    for name in names:
        site.addsitedir(str(_place(name)))


def program(name: str, program: str) -> Path:
    inside = _place(name) / "bin" / program
    return inside if inside.exists() else Path(sys.prefix) / "bin" / program


def _place(name: str) -> Path:
    return VENV / "sets" / name


def _wanted(name: str) -> str:
    return (REQUIREMENTS / f"{name}.txt").read_text()


def _is_made(name: str) -> bool:
    mark = _place(name) / MADE
    return mark.exists() and mark.read_text() == _wanted(name)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """One run at a time makes the environment of a clone; the others find it made."""
    with (paths.SHARED / ".venv-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make() -> None:
    what = "making the Python environment"
    try:
        paths.SHARED.mkdir(parents=True, exist_ok=True)
        with _locked():
            if not _venv_is_good():
                print(f"{what} (once) ...", file=sys.stderr)
                _make_venv(what)
            if not _is_made("base"):
                _make_set("base")
    except OSError as err:
        raise LabError(what, str(err), f"check the room on disk and who owns {paths.SHARED}") from None


def _venv_is_good() -> bool:
    """As ./lab asks it."""
    try:
        return (VENV / MADE).read_text().strip() == _python_of(VENV)
    except (OSError, LabError):
        return False


def _python_of(venv: Path) -> str:
    return process.run([venv / "bin/python", "-I", "-S", "-c", _PYTHON], what="python").strip()


def _make_venv(what: str) -> None:
    new = VENV.with_name("venv.new")
    host.check_room(paths.SHARED, SETS["base"][1] << 20, what)
    shutil.rmtree(new, ignore_errors=True)
    try:
        _run([sys.executable, "-m", "venv", new], what, paths.base().logs / "venv.log")
        (new / MADE).write_text(_python_of(new) + "\n")
        shutil.rmtree(VENV, ignore_errors=True)
        new.rename(VENV)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _make_set(name: str) -> None:
    purpose, room = SETS[name]
    what = f"installing the Python packages {purpose}"
    if name != "base":
        print(f"{what} (once) ...", file=sys.stderr)
    host.check_room(paths.SHARED, room << 20, what)
    place = _place(name)
    new = place.with_name(f".new-{name}")
    shutil.rmtree(new, ignore_errors=True)
    try:
        _pip(name, new, what)
        (new / MADE).write_text(_wanted(name))
        shutil.rmtree(place, ignore_errors=True)
        new.rename(place)
        # Have Python look into every set, again with each: older environments know fewer names.
        folder = next(VENV.glob("lib/python*/site-packages"))
        (folder / "sets.pth").write_text("".join(f"../../../sets/{name}\n" for name in SETS))
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _pip(name: str, target: Path, what: str) -> None:
    options = ["--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "20"]
    options += ["--require-hashes", "--only-binary", ":all:", "--target", str(target)]
    command = [VENV / "bin/python", "-m", "pip", "install", *options, "-r", REQUIREMENTS / f"{name}.txt"]
    _run(command, what, paths.base().logs / f"pip-{name}.log")


def _run(command: list[object], what: str, log: Path) -> None:
    try:
        process.run(command, what=what, log=log)
    except LabError as err:
        why = failure(log.read_text(errors="replace"))
        todo = "free some space" if why == _NO_ROOM else "check the network, then try again"
        raise LabError(what, why, todo, log=log) from err


def failure(text: str) -> str:
    """Why pip or venv failed: the last line is often not the reason."""
    if "no space left" in text.lower():
        return _NO_ROOM
    if _NO_NETWORK.search(text):
        return "the Python package index cannot be reached"
    errors = [line for line in text.splitlines() if "error" in line.lower()]
    return errors[-1].removeprefix("ERROR: ").rstrip(".") if errors else "it failed"


def main() -> int:
    process.interrupt_on_signals()
    try:
        make()
    except LabError as err:
        err.tell()
        return err.status
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
