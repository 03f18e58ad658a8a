# SPDX-License-Identifier: GPL-2.0-only
"""Boots that do not end well have to be ended and reported."""

from collections.abc import Callable
from functools import partial

import pytest

from checks import guests
from checks.declare import check, guest
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.vm import boot as boots
from padlab.vm import machine

MACHINE = "tiny"


def _fails(what: str, expected: str, action: Callable[[], object]) -> Outcome:
    """``action`` must raise a LabError that says ``expected`` and has a log to read."""
    try:
        action()
    except LabError as err:
        problems = [] if expected in err.why else [f"{what} is reported as: {err}"]
        if not err.todo:
            problems.append("it does not say what to do")
        if err.log is not None and not err.log.exists():
            problems.append(f"its log is not there: {err.log}")
        return judge(problems, err.log)
    return judge([f"{what} goes unnoticed"])


def _tiny(*append: str, limit_s: float | None = None) -> Callable[[], object]:
    ready = guests.ready("patched", "boot")
    return partial(boots.boot, machine.load(MACHINE), ready, append=append, time_limit_s=limit_s)


@check("a guest that hangs is ended and reported", guest(MACHINE))
def test_hang() -> Outcome:
    # Its first process sleeps for ever.
    action = _tiny("rdinit=/bin/sleep", "--", "1000000", limit_s=12)
    return _fails("a guest that hangs", "was not done within", action)


@check("a guest that panics is reported", guest(MACHINE))
def test_panic() -> Outcome:
    return _fails("a guest that panics", "the kernel panicked", _tiny("rdinit=/bin/false"))


@check("a missing QEMU is reported", guest(MACHINE))
def test_no_qemu(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """Neither QEMU nor apt-get, which would install it."""
    action = _tiny()
    monkeypatch.setenv("PATH", "/nonexistent")
    return _fails("a missing QEMU", "no apt-get", action)
