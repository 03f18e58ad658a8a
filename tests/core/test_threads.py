# SPDX-License-Identifier: GPL-2.0-only
"""Several at a time: results in order, and what becomes of the others after an error."""

import threading

import pytest

from padlab.core import threads
from padlab.core.errors import LabError


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
