# SPDX-License-Identifier: GPL-2.0-only
"""Native programs: made again when a source or the compiler changed, and by one at a time.

The compiler and make are the real ones; the tree is a made-up one.
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import native, tree
from padlab.kernel.arch import X86_64
from tests.conftest import set_base

MAKEFILE = """\
$(O)/%: main.c ../../../lib/value.h
\techo made >> $(LOG)
\t$(CC) -include $(or $(VALUE),../../../lib/value.h) -o $@ $<
"""
TOOL = native.Tool("tools/testing/x", ("lib/value.h", "lib/more"))


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "tools/testing/x/main.c": "int main(void) { return VALUE; }\n",
        "tools/testing/x/Makefile": MAKEFILE.replace("$(LOG)", str(tmp_path / "log")),
        "lib/value.h": "#define VALUE 3\n",
        "lib/more/empty.h": "\n",
    }
    for name, text in files.items():
        write(tmp_path / "tree" / name, text)
    monkeypatch.setattr(tree, "ensure_tree", lambda kernel: tmp_path / "tree")
    set_base(monkeypatch, build=tmp_path / "build")
    return tmp_path / "tree"


def write(path: Path, text: str) -> None:
    """As a copy comes: older than what was made from what it replaces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1e9, 1e9))


def value(program: Path) -> int:
    return subprocess.run([program], check=False).returncode


def times_made(top: Path) -> int:
    return (top.parent / "log").read_text().count("made")


@pytest.fixture
def made(top: Path) -> Path:
    return native.make(TOOL, "x")


@pytest.mark.parametrize(
    "name", ["lib/value.h", "lib/more/empty.h", "lib/more/new.h", "tools/testing/x/main.c"]
)
def test_a_changed_source_makes_it_again(top: Path, made: Path, name: str) -> None:
    text = (top / name).read_text() if (top / name).exists() else ""
    write(top / name, f"{text}/* changed */\n")
    native.make(TOOL, "x")
    assert times_made(top) == 2


def test_a_changed_compiler_makes_it_again(top: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(X86_64), "identity", "gcc version 99 (of tomorrow)")
    native.make(TOOL, "x")
    assert times_made(top) == 2


def test_what_failed_is_made_from_nothing(made: Path) -> None:
    (TOOL.place / "half.o").touch()
    with pytest.raises(LabError, match="building y: make ended with status 2"):
        native.make(TOOL, "y", "VALUE=none.h")
    native.make(TOOL, "x")
    assert not (TOOL.place / "half.o").exists()


def test_programs_of_a_tool_stay_beside_each_other(top: Path, made: Path) -> None:
    other = native.make(TOOL, "x-other", f"VALUE={top}/lib/value.h")
    assert value(made) == value(other) == 3
    assert times_made(top) == 2


def test_two_at_once_do_not_clash(top: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert {value(made) for made in pool.map(lambda _: native.make(TOOL, "x"), range(8))} == {3}
    assert times_made(top) == 1


def test_static(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, program = tmp_path / "guest.c", paths.base().build / "native/programs/x86_64/guest/program"
    write(tmp_path / "guest.h", "#define STATUS 7\n")
    for text, status in (("5", 5), ("STATUS", 7)):
        write(source, f'#include "guest.h"\nint main(void) {{ return {text}; }}\n')
        assert native.static(source).startswith(b"\x7fELF")
        assert value(program) == status
    write(tmp_path / "guest.h", "#define STATUS 8\n")
    native.static(source)
    assert value(program) == 8
    headers = subprocess.run(["readelf", "-l", program], capture_output=True, text=True, check=True).stdout
    assert "LOAD" in headers and "INTERP" not in headers
    before = program.stat().st_mtime_ns
    native.static(source)
    assert program.stat().st_mtime_ns == before
    assert "gcc version" in X86_64.identity
    monkeypatch.setitem(vars(X86_64), "identity", "gcc version 99 (of tomorrow)")
    native.static(source)
    assert program.stat().st_mtime_ns > before
