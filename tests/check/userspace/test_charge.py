# SPDX-License-Identifier: GPL-2.0-only
"""The check of helpers' CPU time in userspace: what counts as passed, and what as failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from padlab.check.userspace import charge
from padlab.core.errors import LabError


def program(tmp_path: Path, *lines: str, status: int = 0) -> Path:
    path = tmp_path / "charge_check"
    said = "".join(f"echo 'charge_check: {line}'\n" for line in lines)
    path.write_text(f"#!/bin/sh\n{said}exit {status}\n")
    path.chmod(0o755)
    return path


def test_each_part_counts(tmp_path: Path) -> None:
    path = program(tmp_path, "checked 10 steps, seed 1", "checked 9 places", "ok")
    assert charge.check_program(path).passed == 2


def test_a_failure_is_told(tmp_path: Path) -> None:
    path = program(tmp_path, "FAILED: a group's balance is wrong".replace("'", "."), status=1)
    with pytest.raises(LabError, match="balance is wrong"):
        charge.check_program(path)


def test_no_result_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no result"):
        charge.check_program(program(tmp_path, "checked 10 steps, seed 1"))
