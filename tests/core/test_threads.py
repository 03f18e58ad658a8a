# SPDX-License-Identifier: GPL-2.0-only
"""Work of several threads: once for all, and several at a time with results in order."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from padlab.core import threads
from padlab.core.errors import LabError
from padlab.core.threads import once


def test_threads_wait_for_one_and_others_do_not() -> None:
    calls: list[str] = []
    gate = threading.Event()

    @once
    def make(key: str) -> str:
        calls.append(key)
        if key == "slow":
            gate.wait(10)
        return key.upper()

    with ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(make, "slow") for _ in range(3)]
        assert pool.submit(make, "quick").result(5) == "QUICK"
        time.sleep(0.05)
        assert not any(future.done() for future in slow)
        gate.set()
        assert [future.result(5) for future in slow] == ["SLOW"] * 3
    assert sorted(calls) == ["quick", "slow"]


def test_what_failed_is_not_tried_again() -> None:
    calls = []

    @once
    def make(nr: int, *, kind: str = "lab") -> None:
        calls.append(nr)
        raise LabError("a", "b", "c") if kind == "lab" else ValueError("once more")

    for _ in range(2):
        with pytest.raises(LabError, match="a: b; c"):
            make(1)
        with pytest.raises(ValueError, match="once more"):
            make(2, kind="other")
    assert calls == [1, 2, 2]


def test_results_are_in_the_order_of_the_items() -> None:
    assert list(threads.in_order(lambda n: n * n, range(20), 3)) == [n * n for n in range(20)]


def test_after_an_error_no_other_one_is_begun() -> None:
    begun: list[int] = []

    def fail(nr: int) -> None:
        begun.append(nr)
        raise LabError("a", "b", "c")

    with pytest.raises(LabError):
        list(threads.in_order(fail, range(10_000), 1))
    assert len(begun) < 10_000


def test_an_interrupt_ends_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(threads.process, "kill_all", ended.set)

    def guest(nr: int) -> bool:
        if not nr:
            raise KeyboardInterrupt
        return ended.wait(30)

    with pytest.raises(KeyboardInterrupt):
        list(threads.in_order(guest, range(2), 2))
    assert ended.is_set()
