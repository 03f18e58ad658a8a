# SPDX-License-Identifier: GPL-2.0-only
"""The runner of ./lab test: what runs at the same time, limits, and failures that do not stop it."""

import contextlib
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from padlab.check.base import report, runner
from padlab.check.base.runner import Check, Host, Runner
from padlab.core import paths, process
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome

HOST = Host(cores=2, mib=1000, wide=False)


def check(name: str, run: Callable[[], Outcome] = lambda: Outcome(1), **fields: object) -> Check:
    return replace(Check(name, run, limit_s=60), **fields)


def refuse() -> Outcome:
    raise LabError("booting x", "it hung", "see below", log=Path("/x/console.log"), detail=["last line"])


def crash() -> Outcome:
    raise ZeroDivisionError("oops")


def run(capsys: pytest.CaptureFixture[str], *checks: Check, host: Host = HOST) -> tuple[int, list[str]]:
    runs = Runner(checks, host)
    runs.run()
    status = report.conclude(runs.reports, 1.0)
    return status, capsys.readouterr().out.splitlines()


def test_failures_are_told_and_the_rest_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    checks = [
        check("refuses", refuse),
        check("crashes", crash),
        check("some", lambda: Outcome(4, ("case: reason\nmore",), ("other: no SMT",), Path("/x/y.log"))),
        check("empty", lambda: Outcome()),
        check("good", lambda: Outcome(1)),
    ]
    status, out = run(capsys, *checks)
    assert status == 1
    assert out[-1] == "5 passed, 4 failed, 1 skipped"
    text = "\n".join(out)
    assert "failed: booting x: it hung; see below\n      last line\n    log: /x/console.log" in text
    assert f"failed: the check broke: ZeroDivisionError('oops')\n    log: {tmp_path}" in text
    assert "crashes\nTraceback" in (tmp_path / "test-traceback.log").read_text()
    assert "failed: case: reason\n      more\n    log: /x/y.log" in text
    assert "skipped: other: no SMT" in text
    assert "empty: FAILED" in text
    assert "good: ok" in text


class Stepped(Runner):
    """Checks without threads: of those under way, the first of the list ends first."""

    def __init__(self, checks: Sequence[Check], host: Host) -> None:
        super().__init__(checks, host)
        self.together: set[str] = set()

    def _start(self, nr: int, check: Check) -> None:
        self._running[nr] = runner._Running(nr, check, until=math.inf)

    def _wait(self) -> None:
        self.together.add("".join(running.check.name for running in self._running.values()))
        nr = min(self._running)
        self._collect(nr, report.Report(self._running[nr].check.name, Outcome(1), 0, 60))


def pairs(*fields: dict[str, object], host: Host = HOST) -> set[str]:
    """Which of checks a, b, c ... with ``fields`` run at the same time."""
    stepped = Stepped([check(name, **of_one) for name, of_one in zip("abcdef", fields, strict=False)], host)
    stepped.run()
    assert len(stepped.reports) == len(fields)
    return {names for names in stepped.together if len(names) > 1}


def test_they_do_run_at_the_same_time() -> None:
    both = threading.Barrier(2)

    def meets() -> Outcome:
        both.wait(60)
        return Outcome(1)

    runner_of_two = Runner([check("a", meets), check("b", meets)], HOST)
    runner_of_two.run()
    assert [report.outcome for report in runner_of_two.reports] == [Outcome(1)] * 2


def test_as_many_as_the_host_has_cores() -> None:
    assert pairs({}, {}, {}) == {"ab", "bc"}
    assert pairs({}, {}, {}, host=replace(HOST, cores=1)) == set()
    assert "abc" in pairs({}, {}, {}, host=replace(HOST, cores=3))


def test_one_that_is_alone_has_the_host_to_itself() -> None:
    assert pairs({}, {"alone": True}, {}) == set()
    assert pairs({}, {}, {"alone": True}, {}, {}) == {"ab", "de"}


def test_no_more_than_fit_into_memory() -> None:
    assert pairs({"mib": 600}, {"mib": 500}) == set()
    assert pairs({"mib": 600}, {"mib": 400}) == {"ab"}
    # One that fits does not wait for one that does not; and that has its turn.
    assert pairs({"mib": 600}, {"mib": 700}, {"mib": 400}) == {"ac"}
    assert pairs({"mib": 5000}) == set()


def test_guests_that_take_a_core_for_each_cpu() -> None:
    assert pairs({"cpus": 4}, {"cpus": 4}) == {"ab"}
    assert pairs({"cpus": 4}, {"cpus": 1}, host=replace(HOST, wide=True)) == set()
    assert pairs({"cpus": 1}, {"cpus": 1}, host=replace(HOST, wide=True)) == {"ab"}


def test_this_host(monkeypatch: pytest.MonkeyPatch, no_qemu: None) -> None:
    assert runner.this_host([check("a")]).wide is False
    assert runner.this_host([check("a", cpus=2)]).wide is True
    single = runner.accel.Accel("tcg", "TCG", "7.2.22", "single")
    monkeypatch.setattr(runner.accel, "choose", lambda _qemu: single)
    host = runner.this_host([check("a", cpus=2)])
    assert not host.wide and host.cores >= 1 and host.mib > 0


def test_lines_say_which_check_they_are_of(capsys: pytest.CaptureFixture[str]) -> None:
    def noisy() -> Outcome:
        runner.progress.note("seen")
        with runner.progress.step("stepping"):
            return Outcome(1)

    Runner([check("a", noisy), check("b", noisy)], HOST).run()
    lines = capsys.readouterr().err.splitlines()
    for nr in (1, 2):
        own = [line.removeprefix(f"[{nr}] ") for line in lines if line.startswith(f"[{nr}] ")]
        assert own[:2] == ["seen", "stepping ..."]
        assert own[2].startswith("stepping: done in ")
    assert len(lines) == 6


class Clock:
    """Goes on when a check says so.  The runner looks at it again after the shortest limit, in real time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._looks = threading.Semaphore(0)

    def monotonic(self) -> float:
        if threading.current_thread() is threading.main_thread():
            self._looks.release()
        return self.now

    def is_looked_at(self) -> None:
        """Waits until the runner has seen what time it is now, and has done what that asks for."""
        while self._looks.acquire(blocking=False):
            pass
        for _ in range(4):
            assert self._looks.acquire(timeout=60)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (runner, process):
        monkeypatch.setattr(module, "time", clock)
    return clock


def sleeper(clock: Clock, statuses: list[int]) -> Outcome:
    """Is late as soon as its child has been started."""
    with process.spawn(["sleep", "60"], what="sleeping") as proc:
        clock.now += 10
        statuses.append(proc.wait())
    raise LabError("sleeping", "it was ended", "sleep less")


def test_one_over_its_limit_is_ended_and_fails(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    statuses: list[int] = []
    status, out = run(capsys, check("late", lambda: sleeper(clock, statuses), limit_s=0.1), check("good"))
    assert status == 1
    assert out[-1] == "1 passed, 2 failed"
    assert "failed in late: it took longer than its limit of 0.1 s" in "\n".join(out)
    assert statuses == [-signal.SIGTERM]


def test_what_is_done_apart_does_not_count(clock: Clock) -> None:
    def waits() -> Outcome:
        with process.scope().apart():
            clock.now += 10
            clock.is_looked_at()
        return Outcome(1)

    waiting = Runner([check("waits", waits, limit_s=0.1)], HOST)
    waiting.run()
    assert [(report.outcome, report.elapsed) for report in waiting.reports] == [(Outcome(1), 0)]


def test_what_is_done_apart_has_a_limit_too(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(runner, "APART_LIMIT_S", 0.1)
    statuses: list[int] = []

    def hangs() -> Outcome:
        with process.scope().apart():
            return sleeper(clock, statuses)

    hanging = Runner([check("hangs", hangs, limit_s=0.1)], HOST)
    hanging.run()
    assert hanging.reports[0].outcome.failures
    assert statuses == [-signal.SIGTERM]


def test_one_over_its_limit_starts_nothing_more(clock: Clock) -> None:
    tried: list[str] = []
    statuses: list[int] = []

    def stubborn() -> Outcome:
        with contextlib.suppress(LabError):
            sleeper(clock, statuses)
        for _ in range(2):
            try:
                process.run(["sleep", "60"], what="sleeping")
            except LabError as err:
                tried.append(err.why)
        return Outcome(1)

    late = Runner([check("late", stubborn, limit_s=0.1)], HOST)
    late.run()
    assert statuses == [-signal.SIGTERM]
    assert tried == ["sleep was started after the end"] * 2
    assert late.reports[0].outcome.failures and late.reports[0].outcome.passed == 1


def test_one_that_cannot_be_ended_is_given_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "GRACE_S", 0.2)
    waiting = threading.Event()

    def deaf() -> Outcome:
        waiting.wait(30)
        return Outcome(1)

    status, out = run(capsys, check("deaf", deaf, limit_s=0.2, alone=True), check("next"))
    waiting.set()
    assert status == 1
    assert out[-1] == "1 passed, 1 failed"


def test_slower_than_its_limit_fails_even_if_all_passed() -> None:
    late = Outcome(3, ("it took longer than its limit of 60 s",))
    slow = report.Report("x", Outcome(3), elapsed=61, limit_s=60)
    assert runner.judged(slow, ended=False).outcome == late
    good = replace(slow, elapsed=59)
    assert runner.judged(good, ended=False) == good
    assert runner.judged(good, ended=True).outcome == late


INTERRUPTED = """\
import sys
from pathlib import Path
from padlab import cli
from padlab.check.base.runner import Check, Host, Runner
from padlab.core import paths, process
from padlab.core.outcome import Outcome

def sleep(log):
    process.run(["sh", "-c", "echo $$; exec sleep 60"], what="sleeping", log=log)
    return Outcome(1)

@cli.cli.command()
def hold():
    logs = [Path(sys.argv[1]) / name for name in "ab"]
    checks = [Check(log.name, lambda log=log: sleep(log), 60) for log in logs]
    Runner([*checks, Check("c", lambda: Outcome(1), 60)], Host(2, 100, False)).run()

cli.main(["hold"])
"""


def last_line(path: Path) -> str:
    """Once there is one that a program printed."""
    while True:
        lines = path.read_text().splitlines() if path.exists() else []
        if len(lines) > 1 and lines[-1].isdigit():
            return lines[-1]
        time.sleep(0.02)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all(tmp_path: Path, signum: int) -> None:
    command, pipe = [sys.executable, "-c", INTERRUPTED, str(tmp_path)], subprocess.PIPE
    heed = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    run = subprocess.Popen(command, cwd=paths.ROOT, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed)
    children = [last_line(tmp_path / name) for name in "ab"]
    run.send_signal(signum)
    out, err = run.communicate(timeout=20)
    assert run.returncode == 130
    assert err.splitlines()[-1] == "lab: interrupted"
    assert "Traceback" not in err
    assert out == ""  # no other check was started
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)


def test_the_first_failure_may_end_all() -> None:
    runs = Runner(
        [check("good"), check("refuses", refuse), check("never", crash)], replace(HOST, cores=1), stop=True
    )
    runs.run()
    assert [told.name for told in runs.reports] == ["good", "refuses"]
