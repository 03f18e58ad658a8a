# SPDX-License-Identifier: GPL-2.0-only
"""Steps, in a log and on a terminal; results stay on stdout."""

import io
import re

import pytest
from rich.console import Console

from padlab.core import progress


@pytest.mark.parametrize(
    ("elapsed", "text"), [(0.44, "0.4 s"), (12.3, "12 s"), (59.9, "60 s"), (185, "3 min 05 s")]
)
def test_seconds(elapsed: float, text: str) -> None:
    assert progress.seconds(elapsed) == text


def test_a_log_has_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "seconds", lambda _elapsed: "no time")
    with progress.step("building [bold]") as step:
        step.update("too soon")
        monkeypatch.setattr(progress, "_LINE_EVERY_S", 0)
        step.update("5 files")
    with pytest.raises(ValueError), progress.step("what fails"):
        raise ValueError
    assert capsys.readouterr().err.splitlines() == [
        "building [bold] ...",
        "building [bold]: 5 files, no time",
        "building [bold]: done in no time",
        "what fails ...",
    ]


def test_a_terminal_shows_all_steps_that_are_under_way(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, highlight=False, soft_wrap=True)
    monkeypatch.setattr(progress, "console", console)
    monkeypatch.setattr(progress, "seconds", lambda _elapsed: "no time")
    with progress.step("first") as first, progress.step("second [2]") as second:
        first.update("half")
        second.update("all")
        first._live.refresh()
        progress.result("a result")
    assert capsys.readouterr().out == "a result\n"
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert re.search(r"first: half, no time *\n\S second \[2\]: all, no time", shown)
    assert "a result" not in shown
    assert "\rsecond [2]: done in no time\n" in shown and shown.endswith("\rfirst: done in no time\n")
