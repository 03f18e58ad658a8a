# SPDX-License-Identifier: GPL-2.0-only
"""Steps of several threads, in a log and on a terminal; results stay on stdout."""

import io
import re
import sys

import pytest
from rich.console import Console

from padlab.core import progress


@pytest.mark.parametrize(
    ("elapsed", "text"), [(0.44, "0.4 s"), (12.3, "12 s"), (59.9, "60 s"), (185, "3 min 05 s")]
)
def test_seconds(elapsed: float, text: str) -> None:
    assert progress.seconds(elapsed) == text


def test_a_label_is_that_of_its_block(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.labelled("[7]"):
        progress.note("inside [bold]")
    progress.note("outside")
    assert capsys.readouterr().err == "[7] inside [bold]\noutside\n"


def test_a_log_has_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "seconds", lambda _elapsed: "no time")
    with progress.labelled("[3]"), progress.step("building") as step:
        step.update("too soon")
        monkeypatch.setattr(progress, "_LINE_EVERY_S", 0)
        step.update("5 files")
    assert capsys.readouterr().err.splitlines() == [
        "[3] building ...",
        "[3] building: 5 files, no time",
        "[3] building: done in no time",
    ]


def test_a_step_that_fails_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError), progress.step("building"):
        raise ValueError
    assert capsys.readouterr().err == "building ...\n"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, highlight=False, soft_wrap=True)
    monkeypatch.setattr(progress, "console", console)
    monkeypatch.setattr(progress, "_REDRAW_S", 0)
    monkeypatch.setattr(progress, "seconds", lambda _elapsed: "no time")
    return screen


def test_a_terminal_shows_all_steps_that_are_under_way(
    terminal: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    stdout = sys.stdout
    with progress.step("first") as first, progress.step("second [2]") as second:
        first.update("half")
        second.update("all")
        assert list(progress._steps._lines.values()) == ["first: half, no time", "second [2]: all, no time"]
        progress.result("a result")
        assert progress._steps._status is not None
    assert progress._steps._status is None
    assert sys.stdout is stdout
    assert capsys.readouterr().out == "a result\n"
    screen = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert "a result" not in screen
    assert "first: done in no time" in screen
