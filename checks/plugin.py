# SPDX-License-Identifier: GPL-2.0-only
"""What ./lab test adds to pytest: which checks run, what is cached of them, and sums of their cases.

Which run is up to declare.py, expected.py, and the names that the user gives.  Each has a process of its own
(processes.py).  A check returns an Outcome, whose cases are counted in the last line.  What guests said is
cached (cached.py).
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checks import cached, expected, guests, names
from checks.declare import FULL, NAMED, QUICK
from checks.processes import Loop, name, needs
from padlab.core import exclusive, host, packages, paths, progress
from padlab.core.errors import LabError
from padlab.vm import cache

# Packages: what any check, or a test of the lab, runs.  Nothing is skipped for want of one.
QUICK_GROUPS = ("build", "quilt", "git", "guest")
GROUPS = (*QUICK_GROUPS, "models", "qemu", "arm64", "qemu-arm64")
FULL_ROOM = 20 << 30  # on disk, for kernels and packages


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
    if config.option.quick and config.option.full:
        raise pytest.UsageError("--quick and --full exclude each other")
    config.pluginmanager.register(Sums(config), "padlab-sums")
    # Arguments that are no files are names of checks.
    config.option.name = [arg for arg in config.args if not Path(arg.partition("::")[0]).exists()]
    files = [arg for arg in config.args if arg not in config.option.name]
    config.args = files or [str(paths.ROOT / folder) for folder in config.getini("testpaths")]


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
        self.skips += [f"skipped: {name(report)}: {why}" for why in said.get("skips", ())]

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
            cache.prune()
    return True


def set_up(config: pytest.Config) -> None:
    if config.option.full and not config.option.name:
        host.check_room(paths.base().build, FULL_ROOM, paths.command("test --full"))
    packages.ensure(*QUICK_GROUPS if config.option.quick else GROUPS)
    guests.patched_tree()
