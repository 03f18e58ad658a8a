# SPDX-License-Identifier: GPL-2.0-only
"""Programs that check in userspace: each line of what they have checked counts, and has to be there."""

from pathlib import Path

import pytest

from checks.engine import programs
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import native
from tests.conftest import write

LINES = ["run 5 of 9", "store clzero: not on this CPU", "checked 10 steps, seed 1", "checked 9 places", "ok"]


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the program does."""
    lines = list(LINES)

    def make(_tool: native.Tool, name: str) -> Path:
        said = "".join(f"echo 'it_checks: {line}'\n" for line in lines)
        write(tmp_path / name, f"#!/bin/sh\n{said}", 0o755)
        return tmp_path / name

    monkeypatch.setattr(native, "make", make)
    return lines


def checker(*checked: str) -> programs.Checker:
    return programs.Checker(native.Tool("", ()), ("it_checks", "it-56"), checked, says="it_checks")


def test_each_line_is_a_case_and_what_the_cpu_lacks_is_named(says: list[str]) -> None:
    outcome = checker("checked ").run()
    assert (outcome.passed, outcome.failures, outcome.skips) == (4, (), (LINES[1],) * 2)


def test_what_is_not_checked_is_a_failure(says: list[str]) -> None:
    assert checker("checked ", "states: ").run().failures == (
        "it_checks says nothing that begins with 'states: '",
        "it-56 says nothing that begins with 'states: '",
    )


@pytest.mark.parametrize(("end", "why"), [("FAILED: because", "because"), ("more", "no result")])
def test_no_good_end_is_an_error_with_its_log(says: list[str], end: str, why: str) -> None:
    says[-1] = end
    with pytest.raises(LabError, match=why) as err:
        checker("checked ").run()
    assert err.value.log == paths.base().logs / "it_checks.log"
