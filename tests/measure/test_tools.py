# SPDX-License-Identifier: GPL-2.0-only
"""Native programs: what all of them say."""

import pytest

from padlab.measure import tools


@pytest.mark.parametrize(
    ("lines", "said", "status", "problem"),
    [
        (
            ["work: 2 rounds, 5 bytes", "a b", "round 1 reference 7 ns", "ok"],
            (("a b",), (7,), "", True),
            0,
            None,
        ),
        (["a", "ok"], (("a",), (), "", True), 3, "it says ok and ended with status 3"),
        (["a", "FAILED: because", "ok"], (("a",), (), "because", True), 1, "because"),
        (["a"], (("a",), (), "", False), -9, "it ended with status -9 and no result"),
    ],
)
def test_what_a_program_says(
    lines: list[str], said: tuple[object, ...], status: int, problem: str | None
) -> None:
    parsed = tools.said(["noise", *(f"x: {line}" for line in lines)], "x: ")
    assert parsed == tools.Said(*said)  # type: ignore[arg-type]
    assert parsed.problems(status) == ([problem] if problem else [])
