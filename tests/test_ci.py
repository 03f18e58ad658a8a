# SPDX-License-Identifier: GPL-2.0-only
""".ci/run: its last line and its status, whatever the commands in it do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import AbsentError

GOOD = "echo 5 passed, 0 failed"
BRIEF = "echo 3 passed, 0 failed"
MORE = "echo 2 passed, 0 failed"
ABSENT = f"exit {AbsentError.status}"
NOTE = "Linux 7.3: not tested, the package index does not have it"


def run(place: Path, began_s: int = 0, **commands: str) -> tuple[list[str], int]:
    """What .ci/run prints, and its status, with these commands instead of the lab's, ``began_s`` ago."""
    (place / ".ci").mkdir()
    shutil.copy(paths.ROOT / ".ci/run", place / ".ci")
    given = {
        "test": GOOD,
        "fresh": GOOD,
        "trixie": GOOD,
        "tree": "echo /a/tree",
        "boot": "echo booted",
        "brief": BRIEF,
        "more": MORE,
        **commands,
    }
    patterns = {
        "test": "test",
        "fresh": "fresh --suite bookworm",
        "trixie": "fresh --suite trixie",
        "tree": "tree --base 7.3",
        "boot": "boot --base 7.3",
        "brief": "test --base 7.3 --brief",
        "more": "test --full *(nosplit) *page table locks* *(sparse) *(nomemcg)",
    }
    cases = "".join(f"'{patterns[name]}') {script} ;;\n" for name, script in given.items())
    lab = place / "lab"
    lab.write_text(f'#!/bin/bash\necho "lab $*" >>calls\ncase "$*" in\n{cases}*) exit 9 ;;\nesac\n')
    lab.chmod(0o755)
    # From the environment bash takes how long it has been running.
    environment = {**os.environ, "SECONDS": str(began_s)}
    done = subprocess.run([place / ".ci/run"], capture_output=True, text=True, check=False, env=environment)
    return done.stdout.splitlines(), done.returncode


@pytest.mark.parametrize(
    "test, fresh, last, status",
    [
        (GOOD, "echo progress >&2; echo 2 passed, 0 failed", "18 passed, 0 failed", 0),
        ("echo 5 passed, 0 failed, 3 skipped", "echo 2 passed, 0 failed, 1 skipped", "18 passed, 0 failed, 4 skipped", 0),
        ("echo 5 passed, 2 failed; exit 1", GOOD, "21 passed, 2 failed", 1),
        (GOOD, "echo 1 passed, 1 failed; exit 1", "17 passed, 1 failed", 1),
        (GOOD, "echo lab: no namespace can be made >&2; exit 1", "16 passed, 1 failed", 1),
        (GOOD, "echo 2 passed, 0 failed; exit 3", "18 passed, 1 failed", 1),
        (GOOD, "echo 2 passed, 0 failed; echo and more", "16 passed, 1 failed", 1),
        ("kill -KILL $$", GOOD, "16 passed, 1 failed", 1),
        ("true", "true", "11 passed, 2 failed", 1),
    ],
)  # fmt: skip
def test_sums(tmp_path: Path, test: str, fresh: str, last: str, status: int) -> None:
    lines, ended = run(tmp_path, test=test, fresh=fresh)
    assert (lines[-1], ended) == (last, status)


@pytest.mark.parametrize(
    "tree, boot, brief, last, status",
    [
        ("true", "true", BRIEF, "21 passed, 0 failed", 0),
        ("true", "true", "echo 2 passed, 1 failed, 1 skipped; exit 1", "20 passed, 1 failed, 1 skipped", 1),
        ("true", "exit 1", BRIEF, "20 passed, 1 failed", 1),
        ("true", f"exit {AbsentError.status}", BRIEF, "20 passed, 1 failed", 1),
        ("true", "true", "exit 1", "18 passed, 1 failed", 1),
        ("echo lab: tree: no room >&2; exit 1", "true", BRIEF, "17 passed, 1 failed", 1),
    ],
)
def test_the_other_base(tmp_path: Path, tree: str, boot: str, brief: str, last: str, status: int) -> None:
    lines, ended = run(tmp_path, tree=tree, boot=boot, brief=brief)
    assert (lines[-1], ended) == (last, status)
    assert NOTE not in lines


def test_an_index_without_the_other_base_is_told_and_fails_nothing(tmp_path: Path) -> None:
    lines, ended = run(tmp_path, tree=ABSENT)
    assert (lines[-2:], ended) == ([NOTE, "17 passed, 0 failed, 1 skipped"], 0)
    assert "lab boot --base 7.3" not in (tmp_path / "calls").read_text().splitlines()


def test_it_hides_no_other_failure(tmp_path: Path) -> None:
    lines, ended = run(tmp_path, test="echo 5 passed, 1 failed; exit 1", tree=ABSENT)
    assert (lines[-2:], ended) == ([NOTE, "17 passed, 1 failed, 1 skipped"], 1)


CUT = "exit 124"
UNTIL_S = 5040


def test_what_there_is_no_time_for_is_told_and_fails_nothing(tmp_path: Path) -> None:
    lines, ended = run(tmp_path, began_s=UNTIL_S)
    assert (lines[-1], ended) == ("5 passed, 0 failed, 5 skipped", 0)
    assert lines[-6] == "not tested, for want of time: ./lab fresh --suite bookworm"
    assert (tmp_path / "calls").read_text().splitlines() == ["lab test", "lab tree --base 7.3"]


def test_what_is_cut_off_is_told_and_fails_nothing(tmp_path: Path) -> None:
    lines, ended = run(tmp_path, brief=f"echo '[1/9] a: ok, 1 passed, 0 failed'; {CUT}", boot=CUT)
    assert (lines[-1], ended) == ("17 passed, 0 failed, 2 skipped", 0)
    assert lines[-3].startswith("not tested, for want of time: ")
    assert lines[-3].endswith("./lab boot --base 7.3")
    assert lines[-2].startswith("not tested to the end, for want of time: ")


def test_a_check_that_failed_before_fails_all(tmp_path: Path) -> None:
    lines, ended = run(tmp_path, brief=f"echo '[1/9] a: FAILED, 0 passed, 1 failed'; {CUT}")
    assert (lines[-1], ended) == ("18 passed, 1 failed", 1)


def test_the_whole_test_fails_whatever_its_status(tmp_path: Path) -> None:
    lines, ended = run(tmp_path, test=CUT)
    assert (lines[-1], ended) == ("16 passed, 1 failed", 1)


def test_the_whole_test_is_never_left_out(tmp_path: Path) -> None:
    lines, ended = run(tmp_path, began_s=UNTIL_S, test="echo 5 passed, 1 failed; exit 1")
    assert (lines[-1], ended) == ("5 passed, 1 failed, 5 skipped", 1)
