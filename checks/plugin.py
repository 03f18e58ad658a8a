# SPDX-License-Identifier: GPL-2.0-only
"""What ./lab test adds to pytest: checks run side by side, each in a process of its own, within its limits.

- Which checks run: declare.py, expected.py, and the names that the user gives.
- A check's process is forked from pytest's when the host has the CPUs and the memory for it, in the order in
  which checks were collected.  One that is to be ``alone`` waits until nothing else runs, and holds back
  those after it.  One that reaches its time limit is killed with all that it started.
- A check returns an Outcome, whose cases are counted in the last line.
- What guests said is cached (padlab/vm/kept.py).  A check that fails by that boots them.
"""

import multiprocessing
import multiprocessing.connection
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from checks import cached, expected, guests, names
from checks.declare import FULL, NAMED, QUICK, Needs
from padlab.core import exclusive, host, packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.vm import accel, emulator, kept

APART_LIMIT_S = 3600.0  # for what is no part of a check, such as a kernel that it needs
GRACE_S = 30.0  # for a process that is told to end
_SHOWN_S = 30.0  # where a line cannot be redrawn
_MARK = "PADLAB_CHECK"  # in the environment of all that a check starts
# Packages: what any check, or a test of the lab, runs.  Nothing is skipped for want of one.
QUICK_GROUPS = ("build", "quilt", "git", "guest")
GROUPS = (*QUICK_GROUPS, "models", "qemu", "arm64", "qemu-arm64")
FULL_ROOM = 20 << 30  # on disk, for kernels and packages
_fork = multiprocessing.get_context("fork")
Connection = multiprocessing.connection.Connection


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("padata-mt")
    group.addoption("--quick", action="store_true", help="only what needs no kernel build and no boot")
    group.addoption("--full", action="store_true", help="also what takes long: hours")
    group.addoption("--again", action="store_true", help="boot every guest, whatever is cached")
    group.addoption("--list", action="store_true", help="print the names of the checks, and run none")
    # pytest keeps short options to itself, but this is how pytest-xdist has it.
    group._addoption("-n", type=int, default=0, dest="cores", help="CPU cores to use at most")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(needs): what a check needs of the host")
    for when in (QUICK, FULL, NAMED):
        config.addinivalue_line("markers", f"{when}: see checks/declare.py")
    config.pluginmanager.register(Sums(config), "padlab-sums")
    # Arguments that are no files are names of checks.
    config.option.name = [arg for arg in config.args if not Path(arg.partition("::")[0]).exists()]
    files = [arg for arg in config.args if arg not in config.option.name]
    config.args = files or [str(paths.ROOT / folder) for folder in config.getini("testpaths")]


def needs(item: pytest.Item) -> Needs:
    mark = item.get_closest_marker("needs")
    assert mark
    wanted: Needs = mark.args[0]
    return wanted


def name(item: pytest.Item) -> str:
    """What a check is called: its row's name, without that of the function."""
    return item.name.partition("[")[2].removesuffix("]")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    everything = [item for item in items if item.get_closest_marker("needs")]
    option = config.option
    out = {FULL, NAMED} - ({FULL} if option.full else set())
    chosen = [item for item in everything if not any(map(item.get_closest_marker, out))]
    if option.quick:
        chosen = [item for item in chosen if item.get_closest_marker(QUICK)]
    if option.name:
        chosen = list(_named(option.name, chosen, everything))
    left_out = expected.left_out(map(name, chosen))
    kept_in = [item for item in chosen if not expected.why_left_out(name(item))]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept_in)])
    items[:] = kept_in
    if left_out and (option.list or not (option.name or option.quick)):
        config.get_terminal_writer().line("\n".join(["", *left_out]))
    if option.name and not items:
        raise pytest.UsageError(left_out[0] if left_out else "nothing to run")


def _named(
    globs: list[str], chosen: list[pytest.Item], everything: list[pytest.Item]
) -> Iterator[pytest.Item]:
    """Those of this run, or else of those that run only if named."""
    singles = [item for item in everything if item.get_closest_marker(NAMED)]
    wanted: set[pytest.Item] = set()
    for glob in globs:
        found = [item for item in chosen if names.matches(glob, name(item))]
        found = found or [item for item in singles if names.matches(glob, name(item))]
        if not found:
            others = [name(item) for item in everything if names.matches(glob, name(item))]
            if others:
                raise pytest.UsageError(f"only with --full: {', '.join(map(repr, others[: names.NEAR]))}")
            raise pytest.UsageError(str(names.unknown(glob, map(name, everything), "test", "check")))
        wanted.update(found)
    yield from (item for item in everything if item in wanted)


class Sums:
    """Words and sums of the report: cases of checks, where pytest counts checks."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.collected: list[str] = []
        self.passed = self.failed = 0
        self.skips: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self.collected.append(item.name)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        words = re.findall(r"[^\s()]+", self._config.option.keyword)
        for word in words if not session.items else ():
            if word not in ("and", "or", "not") and not any(names.matches(word, it) for it in self.collected):
                raise pytest.UsageError(str(names.unknown(word, self.collected, "test -k", "check")))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            self.failed += report.failed  # a fixture
            return
        said: dict[str, Any] = dict(report.user_properties)
        self.passed += said.get("passed", 0)
        self.failed += said.get("failed", int(report.failed))
        self.skips += [
            f"skipped: {report.nodeid.partition('[')[2][:-1]}: {why}" for why in said.get("skips", ())
        ]

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        if report.when != "call":
            return None
        said: dict[str, Any] = dict(report.user_properties)
        parts = [progress.seconds(report.duration)]
        if said.get("passed", 1) + said.get("failed", 0) > 1:
            parts.insert(
                0, f"{said['passed']} passed" + (f", {said['failed']} failed" * bool(said["failed"]))
            )
        if said.get("note"):
            parts.append(said["note"])
        return report.outcome, report.outcome[0], f"{report.outcome.upper()} ({', '.join(parts)})"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.skips:
            terminalreporter.write_line(line)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        if not (config.option.list or config.option.collectonly):
            skipped = f", {len(self.skips)} skipped" if self.skips else ""
            config.get_terminal_writer().line(f"{self.passed} passed, {self.failed} failed{skipped}")


_SINCE = pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """In the check's process."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    since = pyfuncitem.config.stash[_SINCE]
    outcome, note = cached.run(lambda: pyfuncitem.obj(**arguments), since, needs(pyfuncitem).sees)
    said = {"passed": outcome.passed, "failed": len(outcome.failures), "skips": outcome.skips, "note": note}
    pyfuncitem.user_properties += list(said.items())
    if outcome.failures:
        log = f"\nlog: {outcome.log}" if outcome.log else ""
        pytest.fail("\n".join(dict.fromkeys(outcome.failures)) + log, pytrace=False)
    if not outcome.passed:
        pytest.skip("; ".join(outcome.skips))
    return True


@dataclass
class Running:
    item: pytest.Item
    process: Any
    connection: Connection
    start: float = field(default_factory=time.monotonic)
    apart_s: float = 0.0
    apart_since: float = 0.0
    doing: str = ""
    reports: list[pytest.TestReport] = field(default_factory=list)
    late: bool = False

    @property
    def deadline(self) -> float:
        apart_s = self.apart_s + (time.monotonic() - self.apart_since if self.apart_since else 0.0)
        return self.start + needs(self.item).limit_s + min(apart_s, APART_LIMIT_S)

    def take(self, kind: str, what: Any) -> None:
        if kind == "doing":
            self.doing = what
        elif kind == "report":
            self.reports.append(what)
        elif what:
            self.apart_since = time.monotonic()
        else:
            self.apart_s += time.monotonic() - self.apart_since
            self.apart_since = 0.0

    def end(self) -> None:
        """Its process, and whatever that has left behind."""
        self.process.terminate()
        self.process.join(GRACE_S)
        self.process.kill()
        self.process.join()
        exclusive.kill_marked(f"{_MARK}={self.process.pid}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    config = session.config
    if config.option.list:
        config.get_terminal_writer().line("\n".join(map(name, session.items)))
        return True
    if config.option.collectonly or session.testsfailed:
        return None
    config.stash[_SINCE] = time.time() if config.option.again else 0.0
    with exclusive.held(paths.command("test")):
        try:
            set_up(config)
        except LabError as err:
            err.tell()
            pytest.exit(str(err), returncode=err.status)
        loop = Loop(session)
        try:
            loop.run()
        finally:
            loop.end()
            kept.prune()
    return True


def set_up(config: pytest.Config) -> None:
    if config.option.full and not config.option.name:
        host.check_room(paths.BUILD, FULL_ROOM, paths.command("test --full"))
    packages.ensure(*QUICK_GROUPS if config.option.quick else GROUPS)
    guests.patched_tree()


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
        self._status = Status(session.config)

    def run(self) -> None:
        while self._todo or self._running:
            if self._session.shouldfail:
                raise self._session.Failed(self._session.shouldfail)
            self._start_what_fits()
            self._wait()
            for running in self._running:
                if time.monotonic() > running.deadline:
                    running.late = True
                    running.end()
            self._status.show(self._running, len(self._todo))

    def end(self) -> None:
        self._status.erase()
        for running in self._running:
            running.end()

    def _start_what_fits(self) -> None:
        for item in list(self._todo):
            others = [needs(running.item) for running in self._running]
            if self._host.fits(needs(item), others):
                self._todo.remove(item)
                ours, theirs = _fork.Pipe(duplex=False)
                child = _fork.Process(target=_work, args=(theirs, item))
                child.start()
                theirs.close()
                self._running.append(Running(item, child, ours))
            elif needs(item).alone:
                break

    def _wait(self) -> None:
        """For a second at most, so that what is late is seen."""
        by_connection = {running.connection: running for running in self._running}
        for connection in multiprocessing.connection.wait(list(by_connection), 1.0):
            running = by_connection[connection]  # type: ignore[index]
            try:
                running.take(*running.connection.recv())
            except (EOFError, OSError):  # its process has ended
                running.process.join()
                self._running.remove(running)
                self._report(running)

    def _report(self, running: Running) -> None:
        status = running.process.exitcode
        exclusive.kill_marked(f"{_MARK}={running.process.pid}")
        reports = running.reports
        if running.late or status:
            limit = f"it took longer than its limit of {needs(running.item).limit_s:g} s"
            why = limit if running.late else process.describe_status(["its process"], status)
            reports = [report for report in reports if report.when == "setup"] + [_failed(running, why)]
        self._status.erase()
        hook = self._session.config.hook
        for report in reports:
            hook.pytest_runtest_logreport(report=report)


def _failed(running: Running, why: str) -> pytest.TestReport:
    item, now = running.item, time.time()
    took = time.monotonic() - running.start
    doing = f"; last: {running.doing}" if running.doing else ""
    return pytest.TestReport(
        item.nodeid,
        item.location,
        dict.fromkeys(item.keywords, 1),
        "failed",
        f"{why}{doing}",
        "call",
        duration=took,
        start=now - took,
        stop=now,
    )


def _work(connection: Connection, item: pytest.Item) -> None:
    """A check's process."""
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


class Status:
    """What is running: a line that is redrawn on a terminal, and else one now and then."""

    def __init__(self, config: pytest.Config) -> None:
        self._reporter = config.pluginmanager.getplugin("terminalreporter")
        self._writer = config.get_terminal_writer()
        self._drawn = False
        self._last = time.monotonic()

    def show(self, all_running: list[Running], waiting: int) -> None:
        now = time.monotonic()
        parts = []
        for running in all_running:
            took = progress.seconds(round(now - running.start))
            parts.append(f"{name(running.item)}, {took}" + (f": {running.doing}" if running.doing else ""))
        line = f"{len(parts)} running, {waiting} waiting: {' | '.join(parts)}"
        if self._writer.hasmarkup:
            self.erase()
            self._reporter.ensure_newline()
            self._writer.write(line[: self._writer.fullwidth - 1], flush=True)
            self._drawn = True
        elif parts and now - self._last > _SHOWN_S:
            self._last = now
            self._reporter.ensure_newline()
            self._writer.line(line)

    def erase(self) -> None:
        if self._drawn:
            self._writer.write("\r\x1b[K")
            self._drawn = False
