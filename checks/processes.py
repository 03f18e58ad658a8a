# SPDX-License-Identifier: GPL-2.0-only
"""Checks in processes of their own, as many at a time as the host has the CPUs and the memory for.

They begin in the order in which they were collected.  One that is to be ``alone`` waits until nothing else
runs, and holds back those after it.  One that reaches its time limit is killed with all that it started.
"""

import multiprocessing
import multiprocessing.connection
import os
import time
from dataclasses import dataclass
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from checks.declare import Needs
from padlab.core import exclusive, host, process, progress
from padlab.vm import accel, emulator

APART_LIMIT_S = 3600.0  # for what is no part of a check, such as a kernel that it needs
GRACE_S = 30.0  # for a process that is told to end
_SHOWN_S = 30.0  # where a line cannot be redrawn
_MARK = "PADLAB_CHECK"  # in the environment of all that a check starts
_fork = multiprocessing.get_context("fork")
Connection = multiprocessing.connection.Connection


def needs(item: pytest.Item) -> Needs:
    mark = item.get_closest_marker("needs")
    assert mark
    wanted: Needs = mark.args[0]
    return wanted


def name(of: pytest.Item | pytest.TestReport) -> str:
    """What a check is called: its row's name, without that of the function."""
    return of.nodeid.partition("[")[2].removesuffix("]")


class Running:
    """A check's process, and what it has said."""

    def __init__(self, item: pytest.Item) -> None:
        self.item = item
        self.connection, theirs = _fork.Pipe(duplex=False)
        self.process: Any = _fork.Process(target=_work, args=(theirs, item))
        self.process.start()
        theirs.close()
        self.start = time.monotonic()
        self.deadline = self.start + needs(item).limit_s
        self.apart_since = 0.0
        self.doing = ""
        self.reports: list[pytest.TestReport] = []
        self.late = False

    def take(self, kind: str, what: Any) -> None:
        if kind == "doing":
            self.doing = what
        elif kind == "report":
            self.reports.append(what)
        elif what:  # something begins that is apart
            self.apart_since = time.monotonic()
            self.deadline += APART_LIMIT_S
        else:
            self.deadline += time.monotonic() - self.apart_since - APART_LIMIT_S

    def end(self) -> None:
        """Its process, and whatever that has left behind."""
        self.process.terminate()
        self.process.join(GRACE_S)
        self.process.kill()
        self.process.join()
        exclusive.kill_marked(f"{_MARK}={self.process.pid}")


@dataclass(frozen=True)
class Host:
    """What there is for checks.  ``wide``: a guest takes a core for each of its CPUs."""

    cores: int
    mib: int
    wide: bool = False

    def fits(self, wanted: Needs, others: list[Needs]) -> bool:
        """Whether a check may run beside ``others``; by itself, any may."""
        if not others:
            return True
        if wanted.alone or any(other.alone for other in others):
            return False
        together = [*others, wanted]
        cores = sum(min(one.cpus, self.cores) if self.wide else 1 for one in together)
        return cores <= self.cores and sum(one.mib for one in together) <= self.mib


class Loop:
    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._todo = list(session.items)
        self._running: list[Running] = []
        wide = any(needs(item).cpus > 1 for item in self._todo)
        wide = wide and accel.choose(emulator.ensure()).parallel
        cores = session.config.option.cores or len(os.sched_getaffinity(0))
        self._host = Host(cores, host.free_mib(), wide)
        self._reporter = session.config.pluginmanager.getplugin("terminalreporter")
        self._writer = session.config.get_terminal_writer()
        self._drawn = False
        self._shown = time.monotonic()

    def run(self) -> None:
        some_ended = True
        while self._todo or self._running:
            if self._session.shouldfail:
                raise self._session.Failed(self._session.shouldfail)
            if some_ended:  # else, no other fits than before
                self._start_what_fits()
            some_ended = self._wait()
            for running in self._running:
                if time.monotonic() > running.deadline:
                    running.late = True
                    running.end()
            self._show()

    def end(self) -> None:
        self._erase()
        for running in self._running:
            running.end()

    def _start_what_fits(self) -> None:
        for item in list(self._todo):
            others = [needs(running.item) for running in self._running]
            if self._host.fits(needs(item), others):
                self._todo.remove(item)
                self._running.append(Running(item))
            elif needs(item).alone:
                break

    def _wait(self) -> bool:
        """For a second at most, so that what is late is seen; whether a check has ended."""
        before = len(self._running)
        by_connection = {running.connection: running for running in self._running}
        for connection in multiprocessing.connection.wait(list(by_connection), 1.0):
            running = by_connection[connection]  # type: ignore[index]
            try:
                running.take(*running.connection.recv())
            except (EOFError, OSError):  # its process has ended
                running.process.join()
                self._running.remove(running)
                self._report(running)
        return len(self._running) < before

    def _report(self, running: Running) -> None:
        status = running.process.exitcode
        exclusive.kill_marked(f"{_MARK}={running.process.pid}")
        reports = running.reports
        if running.late or status:
            limit = f"it took longer than its limit of {needs(running.item).limit_s:g} s"
            why = limit if running.late else process.describe_status(["its process"], status)
            reports = [report for report in reports if report.when == "setup"] + [_failed(running, why)]
        self._erase()
        for report in reports:
            self._session.config.hook.pytest_runtest_logreport(report=report)

    def _show(self) -> None:
        """What is running: a line that is redrawn on a terminal, and else one now and then."""
        now = time.monotonic()
        parts = []
        for running in self._running:
            took = progress.seconds(round(now - running.start))
            parts.append(f"{name(running.item)}, {took}" + (f": {running.doing}" if running.doing else ""))
        line = f"{len(parts)} running, {len(self._todo)} waiting: {' | '.join(parts)}"
        if self._writer.hasmarkup:
            self._erase()
            self._reporter.ensure_newline()
            self._writer.write(line[: self._writer.fullwidth - 1], flush=True)
            self._drawn = True
        elif parts and now - self._shown > _SHOWN_S:
            self._shown = now
            self._reporter.ensure_newline()
            self._writer.line(line)

    def _erase(self) -> None:
        if self._drawn:
            self._writer.write("\r\x1b[K")
            self._drawn = False


def _failed(running: Running, why: str) -> pytest.TestReport:
    item, took = running.item, time.monotonic() - running.start
    why += f"; last: {running.doing}" if running.doing else ""
    keywords: dict[str, Any] = dict.fromkeys(item.keywords, 1)
    return pytest.TestReport(item.nodeid, item.location, keywords, "failed", why, "call", duration=took)


def _work(connection: Connection, item: pytest.Item) -> None:
    os.setpgrp()  # Ctrl-C is for pytest's own, which ends the others
    process.interrupt_on_signals()
    os.environ[_MARK] = str(os.getpid())
    progress.listener = lambda line: connection.send(("doing", line))
    process.on_apart = lambda begins: connection.send(("apart", begins))
    # Files for output that it does not share with other processes.
    capture = item.config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    try:
        for report in runtestprotocol(item, log=False, nextitem=None):
            connection.send(("report", report))
    except KeyboardInterrupt:
        os._exit(130)
    finally:
        process.kill_all()
