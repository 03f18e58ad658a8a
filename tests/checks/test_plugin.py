# SPDX-License-Identifier: GPL-2.0-only
"""What the plugin adds to pytest: side by side, limits, crashes, names, sums, Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from checks.declare import Needs
from checks.processes import Host
from padlab.core import paths
from tests.conftest import is_gone

HEAD = """
import os, pathlib, signal, subprocess, time
import pytest
from checks.declare import FULL, NAMED, QUICK, Needs, check, each, row
from padlab.core import process
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome

HERE = pathlib.Path(__file__).parent

def wait_for(name):
    while not (HERE / name).exists():
        time.sleep(0.01)
"""

# What tests need none of: packages, the patched tree, the lock of the clone, what the user's cache has.
CONFTEST = """
import contextlib
import pathlib
from checks import plugin, processes
from padlab.vm import accel, cache

here = pathlib.Path(__file__).parent
plugin.set_up = lambda config: None
plugin.exclusive.held = lambda command: contextlib.nullcontext()
processes.GRACE_S = 5
cache.FOLDER, cache.VERDICTS = here / "boots", here / "verdicts"
"""


ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(paths.ROOT), *sys.path])}


@dataclass
class Runs:
    place: Path

    def command(self, text: str, *arguments: str) -> list[str]:
        (self.place / "test_some.py").write_text(HEAD + text)
        (self.place / "conftest.py").write_text(CONFTEST)
        config = f"-c {paths.CHECKS}/pytest.ini --rootdir={self.place} -p no:hypothesispytest".split()
        return [sys.executable, "-m", "pytest", *config, *arguments, str(self.place)]

    def __call__(self, text: str, *arguments: str) -> tuple[int, str]:
        command = self.command(text, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
        return done.returncode, done.stderr + done.stdout


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


ONE, FOUR, ALONE = Needs(60), Needs(60, cpus=4), Needs(60, alone=True)


@pytest.mark.parametrize(
    ("wanted", "others", "wide", "fits"),
    [
        (Needs(60, mib=5000, cpus=8, alone=True), [], 1, True),  # by itself any may run
        (ONE, [ONE], 0, True),
        (ONE, [ONE, ONE], 0, False),
        # A guest takes cores only where its CPUs run side by side.
        (FOUR, [ONE], 0, True),
        (FOUR, [ONE], 2, False),
        (FOUR, [ONE], 5, True),
        (Needs(60, mib=400), [Needs(60, mib=600)], 0, True),
        (Needs(60, mib=401), [Needs(60, mib=600)], 0, False),
        (ALONE, [ONE], 0, False),
        (ONE, [ALONE], 0, False),
    ],
)
def test_as_many_run_as_fit(wanted: Needs, others: list[Needs], wide: int, fits: bool) -> None:
    assert Host(cores=wide or 2, mib=1000, wide=bool(wide)).fits(wanted, others) is fits


OUTCOMES = """
@check("refuses", Needs(60))
def test_refuses():
    raise LabError("booting x", "it hung", "see below", detail=["last line"])

@check("breaks", Needs(60))
def test_breaks():
    1 / 0

@check("some", Needs(60))
def test_some():
    return Outcome(4, ("case: reason\\nmore",), ("other: no SMT",))

@check("empty", Needs(60))
def test_empty():
    return Outcome()

@check("skipped", Needs(60))
def test_skipped():
    return Outcome(skips=("no memory",))

@check("good", Needs(60))
def test_good():
    return Outcome(3)

@check("dies", Needs(60))
def test_dies():
    os.kill(os.getpid(), signal.SIGSEGV)
"""


def test_failures_are_told_and_the_rest_runs(runs: Runs) -> None:
    status, text = runs(OUTCOMES)
    assert status == 1
    assert text.splitlines()[-1] == "7 passed, 5 failed, 2 skipped"
    assert "booting x: it hung; see below\nlast line" in text
    assert "ZeroDivisionError" in text
    assert "case: reason\nmore" in text and "4 passed, 1 failed" in text
    assert "skipped: some: other: no SMT" in text
    assert "nothing was tested" in text
    assert "its process was ended by SIGSEGV" in text
    assert "test_good[good] PASSED (3 passed" in text


def test_they_do_run_at_the_same_time(runs: Runs) -> None:
    status, text = runs(
        """
@each("mine, other", [row("a", "x", "y", needs=Needs(60)), row("b", "y", "x", needs=Needs(60))])
def test_meets(mine, other):
    (HERE / mine).touch()
    wait_for(other)
    return Outcome(1)
""",
        *("-n", "2"),
    )
    assert (status, text.splitlines()[-1]) == (0, "2 passed, 0 failed")


def test_one_that_hangs_is_ended_with_all_that_it_started(runs: Runs) -> None:
    status, text = runs(
        """
@check("hangs", Needs(5))
def test_hangs():
    with process.spawn(["sleep", "1000"], what="sleeping") as proc:
        (HERE / "pid").write_text(str(proc.pid))
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        time.sleep(1000)

@check("good", Needs(60))
def test_good():
    return Outcome(1)
"""
    )
    assert status == 1 and "it took longer than its limit of 5 s" in text
    assert text.splitlines()[-1] == "1 passed, 1 failed"
    assert is_gone(int((runs.place / "pid").read_text()))


def test_what_is_apart_does_not_count(runs: Runs) -> None:
    status, _ = runs(
        """
@check("builds", Needs(5))
def test_builds():
    with process.apart():
        time.sleep(6)
    return Outcome(1)
"""
    )
    assert status == 0


WHICH = """
@each("name", [row("day", 1, needs=Needs(60), when=QUICK), row("night", 2, needs=Needs(60)),
               row("rare", 3, needs=Needs(60), when=FULL), row("by name", 4, needs=Needs(60), when=NAMED)])
def test_which(name):
    return Outcome(1)
"""


@pytest.mark.parametrize(
    ("arguments", "ran"),
    [
        ((), ["day", "night"]),
        (("--quick",), ["day"]),
        (("--full",), ["day", "night", "rare"]),
        (("NIGH",), ["night"]),
        (("d?y", "night"), ["day", "night"]),
        (("by name",), ["by name"]),
        (("-k", "night or rare"), ["night"]),
    ],
)
def test_which_run(runs: Runs, arguments: tuple[str, ...], ran: list[str]) -> None:
    status, text = runs(WHICH, *arguments)
    assert (status, sorted(re.findall(r"\[(.*)\] PASSED", text))) == (0, ran)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nigth",), "ERROR: test nigth: no check has that name; nearest: 'night'; see ./lab test --list"),
        (("--quick", "--full"), "ERROR: --quick and --full exclude each other"),
        (("-k", "nigth"), "ERROR: test -k nigth: no check has that name; nearest: 'night'"),
        (("rare",), "ERROR: only with --full: 'rare'"),
    ],
)
def test_what_cannot_be_chosen(runs: Runs, arguments: tuple[str, ...], says: str) -> None:
    status, text = runs(WHICH, *arguments)
    assert status == 4 and says in text


TWO = """
@each("bad", [row("one", "one", needs=Needs(60, alone=True)), row("two", "two", needs=Needs(60, alone=True))])
def test_two(bad):
    return Outcome(failures=("bad",)) if (HERE / f"bad-{bad}").exists() else Outcome(1)
"""


def test_x_ends_at_the_first_failure_and_lf_goes_on_with_it(runs: Runs) -> None:
    (runs.place / "bad-one").touch()
    cache = ("-o", f"cache_dir={runs.place}/cache")
    status, text = runs(TWO, "-x", *cache)
    assert status == 1 and text.splitlines()[-1] == "0 passed, 1 failed"
    (runs.place / "bad-one").unlink()
    status, text = runs(TWO, "--lf", *cache, f"--junitxml={runs.place}/report.xml")
    assert status == 0 and "test_two[one] PASSED" in text and "test_two[two]" not in text
    assert 'name="test_two[one]"' in (runs.place / "report.xml").read_text()


def test_ctrl_c(runs: Runs) -> None:
    command = runs.command(
        """
@check("sleeps", Needs(60))
def test_sleeps():
    with process.spawn(["sleep", "1000"], what="sleeping") as proc:
        (HERE / "pid.new").write_text(str(proc.pid))
        (HERE / "pid.new").rename(HERE / "pid")
        proc.wait()
"""
    )
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=ENVIRONMENT,
        # Where the tests run in the background, it is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as proc:
        while not (runs.place / "pid").exists():
            time.sleep(0.05)
        proc.send_signal(signal.SIGINT)
        text, _ = proc.communicate()
    assert proc.returncode == 2 and "KeyboardInterrupt" in text
    assert is_gone(int((runs.place / "pid").read_text()))
