# SPDX-License-Identifier: GPL-2.0-only
""".ci/run: its last line and its status, whatever the commands in it do."""

import shutil
import subprocess
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import AbsentError
from tests.conftest import write

GOOD = "echo 5 passed, 0 failed"
BRIEF = "echo 3 passed, 0 failed"
NOTE = "Linux 7.3: not tested, the package index does not have it"
BARE = ("test --full bare bookworm", "test --full bare trixie")


def run(place: Path, count: int = 0, **commands: str) -> tuple[list[str], int]:
    """What .ci/run prints, and its status, with these commands instead of the lab's.

    ``count`` is the number of commits.
    """
    (place / ".ci").mkdir()
    shutil.copy(paths.ROOT / ".ci/run", place / ".ci")
    given = {"test": GOOD, "fresh": GOOD, "tree": "echo /a/tree", "boot": "echo booted", "brief": BRIEF}
    patterns = {
        "test": "test --again",
        "fresh": BARE[count % 2],
        "tree": "tree --base 7.3",
        "boot": "boot --base 7.3",
        "brief": "test --base 7.3 --again tests of",
    }
    cases = "".join(f"'{patterns[name]}'*) {script} ;;\n" for name, script in (given | commands).items())
    lab = f'echo "lab $*" >>calls\ncase "$*" in\n{cases}*) exit 9 ;;\nesac\n'
    for name, script in (("lab", lab), ("git", f"echo {count}\n")):
        write(place / name, f"#!/bin/bash\n{script}", 0o755)
    env = {"PATH": f"{place}:/usr/bin:/bin"}
    done = subprocess.run([place / ".ci/run"], capture_output=True, text=True, check=False, env=env)
    return done.stdout.splitlines(), done.returncode


@pytest.mark.parametrize(
    "test, fresh, last, status",
    [
        (GOOD, "echo progress >&2; echo 2 passed, 0 failed", "11 passed, 0 failed", 0),
        ("echo 5 passed, 0 failed, 3 skipped", "echo 2 passed, 0 failed, 1 skipped", "11 passed, 0 failed, 4 skipped", 0),
        ("echo 5 passed, 2 failed; exit 1", GOOD, "14 passed, 2 failed", 1),
        (GOOD, "echo 1 passed, 1 failed; exit 1", "10 passed, 1 failed", 1),
        (GOOD, "echo lab: no namespace can be made >&2; exit 1", "9 passed, 1 failed", 1),
        (GOOD, "echo 2 passed, 0 failed; exit 3", "11 passed, 1 failed", 1),
        (GOOD, "echo 2 passed, 0 failed; echo and more", "9 passed, 1 failed", 1),
        ("kill -KILL $$", GOOD, "9 passed, 1 failed", 1),
        ("true", "true", "4 passed, 2 failed", 1),
    ],
)  # fmt: skip
def test_sums(tmp_path: Path, test: str, fresh: str, last: str, status: int) -> None:
    lines, ended = run(tmp_path, test=test, fresh=fresh)
    assert (lines[-1], ended) == (last, status)


@pytest.mark.parametrize(
    "tree, boot, brief, last, status",
    [
        ("true", "true", BRIEF, "14 passed, 0 failed", 0),
        ("true", "true", "echo 2 passed, 1 failed, 1 skipped; exit 1", "13 passed, 1 failed, 1 skipped", 1),
        ("true", "exit 1", BRIEF, "13 passed, 1 failed", 1),
        ("true", f"exit {AbsentError.status}", BRIEF, "13 passed, 1 failed", 1),
        ("true", "true", "exit 1", "11 passed, 1 failed", 1),
        ("echo lab: tree: no room >&2; exit 1", "true", BRIEF, "10 passed, 1 failed", 1),
    ],
)
def test_the_other_base(tmp_path: Path, tree: str, boot: str, brief: str, last: str, status: int) -> None:
    lines, ended = run(tmp_path, tree=tree, boot=boot, brief=brief)
    assert (lines[-1], ended) == (last, status)
    assert NOTE not in lines


def test_an_index_without_the_other_base_is_told_and_fails_nothing(tmp_path: Path) -> None:
    lines, ended = run(tmp_path, tree=f"exit {AbsentError.status}", test="echo 5 passed, 1 failed; exit 1")
    assert (lines[-2:], ended) == ([NOTE, "10 passed, 1 failed, 1 skipped"], 1)
    assert "lab boot --base 7.3" not in (tmp_path / "calls").read_text().splitlines()


@pytest.mark.parametrize("count", [6, 7])
def test_bare_roots_take_turns(tmp_path: Path, count: int) -> None:
    run(tmp_path, count)
    called = (tmp_path / "calls").read_text().splitlines()
    assert [call for call in called if "bare" in call] == [f"lab {BARE[count % 2]}"]


def test_says_what_took_how_long(tmp_path: Path) -> None:
    lines, _ = run(tmp_path)
    first, second, third = (line.split(" s: ")[1] for line in lines if " s: ./lab" in line)
    assert (first, second) == ("./lab test --again", f"./lab {BARE[0]}")
    assert third.startswith("./lab test --base 7.3 --again tests of the mailable series ")
