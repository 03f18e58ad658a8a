# SPDX-License-Identifier: GPL-2.0-only
"""Functions that several threads call, and that are worked out once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from padlab.core.errors import LabError
from padlab.core.once import once


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
