# SPDX-License-Identifier: GPL-2.0-only
"""Boots and verdicts that are cached: what a check does with them, and what becomes of a failure."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from checks import cached
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.vm import cache
from tests.conftest import write_all


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "boots")
    monkeypatch.setattr(cache, "VERDICTS", tmp_path / "verdicts")


def boots(place: Path, console: str, wants: str) -> Callable[[], Outcome]:
    def check() -> Outcome:
        cached = cache.current
        assert cached
        logs = cached.find("key")
        if not logs:
            write_all(place, {"console.log": console, "guest.log": "done 0\n"})
            cached.booted["key"] = place
        said = ((logs or place) / "console.log").read_text()
        return judge([] if wants in said else [f"does not say {wants}"])

    return check


def test_what_passed_is_not_booted_again(tmp_path: Path) -> None:
    good = Outcome(1)
    assert cached.run(boots(tmp_path / "a", "good", "good")) == (good, "")
    assert cached.run(boots(tmp_path / "b", "good", "good")) == (good, "1 boots cached")
    assert not (tmp_path / "b").exists()
    assert cached.run(boots(tmp_path / "b", "good", "good"), since=time.time() + 1) == (good, "")
    assert (tmp_path / "b").exists()


def test_a_failure_by_what_is_cached_is_tried_with_a_boot(tmp_path: Path) -> None:
    cached.run(boots(tmp_path / "a", "good", "good"))
    time.sleep(0.01)
    assert cached.run(boots(tmp_path / "b", "better", "better")) == (Outcome(1), "")
    found = cache.Cache().find("key")
    assert found and (found / "console.log").read_text() == "better"


def test_a_failure_leaves_nothing_cached(tmp_path: Path) -> None:
    assert cached.run(boots(tmp_path / "a", "bad", "good"))[0].failures
    assert cache.Cache().find("key") is None
    cached.run(boots(tmp_path / "a", "good", "good"))
    assert cached.run(boots(tmp_path / "b", "worse", "better"))[0].failures
    assert cache.Cache().find("key") is None


def test_a_verdict_is_cached_while_what_it_sees_is_the_same() -> None:
    runs: list[str] = []

    def run(seen: str, outcome: Outcome) -> tuple[Outcome, str]:
        def check() -> Outcome:
            runs.append(seen)
            return outcome

        return cached.run(check, sees=lambda: seen)

    assert run("a", Outcome(2, skips=("s",)))[1] == ""
    assert run("a", Outcome(0, ("bad",))) == (Outcome(2, skips=("s",)), "cached")
    assert run("b", Outcome(0, ("bad",)))[0].failures
    assert run("b", Outcome(0, ("bad",)))[0].failures
    assert runs == ["a", "b", "b"]


def test_a_check_that_cannot_say_what_it_sees_is_run() -> None:
    def refuse() -> str:
        raise LabError("spin", "it is not there", "install it")

    assert cached.run(lambda: Outcome(1), sees=refuse) == (Outcome(1), "")
