# SPDX-License-Identifier: GPL-2.0-only
""".ci/run: its last line and its status, whatever the commands in it do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from padlab.core import paths

GOOD = "echo 5 passed, 0 failed"


@pytest.mark.parametrize(
    "test, fresh, last, status",
    [
        (GOOD, "echo progress >&2; echo 2 passed, 0 failed", "7 passed, 0 failed", 0),
        ("echo 5 passed, 0 failed, 3 skipped", "echo 2 passed, 0 failed, 1 skipped", "7 passed, 0 failed, 4 skipped", 0),
        ("echo 5 passed, 2 failed; exit 1", GOOD, "10 passed, 2 failed", 1),
        (GOOD, "echo 1 passed, 1 failed; exit 1", "6 passed, 1 failed", 1),
        (GOOD, "echo lab: no namespace can be made >&2; exit 1", "5 passed, 1 failed", 1),
        (GOOD, "echo 2 passed, 0 failed; exit 3", "7 passed, 1 failed", 1),
        (GOOD, "echo 2 passed, 0 failed; echo and more", "5 passed, 1 failed", 1),
        ("kill -KILL $$", GOOD, "5 passed, 1 failed", 1),
        ("true", "true", "0 passed, 2 failed", 1),
    ],
)  # fmt: skip
def test_sums(tmp_path: Path, test: str, fresh: str, last: str, status: int) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(paths.ROOT / ".ci/run", tmp_path / ".ci")
    lab = tmp_path / "lab"
    lab.write_text(f'#!/bin/bash\ncase "$*" in\ntest) {test} ;;\n*trixie*) {fresh} ;;\nesac\n')
    lab.chmod(0o755)
    done = subprocess.run([tmp_path / ".ci/run"], capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines()[-1], done.returncode) == (last, status)
