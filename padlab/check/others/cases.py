# SPDX-License-Identifier: GPL-2.0-only
"""Cases in the output of test programs that others wrote, and two kernels compared by them.

The programs have no common form.  Most print TAP, some a line of their own for each case,
and all have an exit status, which is a case of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PASS: Final = "pass"
XFAIL: Final = "xfail"
SKIP: Final = "skip"
FAIL: Final = "fail"
MISSING: Final = "missing"
_FROM_BEST = (PASS, XFAIL, SKIP, FAIL, MISSING)

EXIT = "exit status"
_EXIT_SKIP = 4
_TIMED_OUT = (124, 137, 143)  # of timeout(1), and of busybox's

_TAP = re.compile(
    r"^(?:# )?(?P<not>not )?ok (?P<nr>\d+)\b[-: ]*(?P<name>.*?)\s*"
    r"(?:# (?P<what>SKIP|XFAIL|TODO)\b:?\s*(?P<reason>.*))?$",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"^# \[(?:RUN|INFO)\] (?P<about>.*)$")  # what the next lines of TAP are about
_UFFD = re.compile(
    r"^Testing (?P<name>.*?)\.\.\. .*?(?P<how>done|skipped|failed)\b(?: \[reason: (?P<reason>.*)\])?"
)
_UFFD_HOW = {"done": PASS, "skipped": SKIP, "failed": FAIL}
_RUN_TEST = re.compile(r"^Run test: (?P<name>.*?)\s*$")
_COLOURED = re.compile(r"\[3[123]m(?P<how>OK|Fail|Skip)\b")
_COLOURED_HOW = {"OK": PASS, "Fail": FAIL, "Skip": SKIP}
# What differs from one run to the next.
_VARYING = re.compile(r"0x[0-9a-f]+|\b\d+(?:\.\d+)?(?= ?(?:(?:ns|us|ms)\b|%)|\s*\(\d)|(?<=faults )\d+")


@dataclass(frozen=True)
class Case:
    outcome: str
    reason: str = ""  # of a skip, if the program gave one, or of a time limit


Cases = Mapping[str, Case]


def rank(outcome: str) -> int:
    """0 is best."""
    return _FROM_BEST.index(outcome)


# Reading


def parse(lines: Iterable[str], status: int) -> dict[str, Case]:
    """The cases of one program by name, of which a repeated one counts by its worst outcome."""
    late = "it did not end in its time" if status in _TIMED_OUT else ""
    cases = {EXIT: Case(_of_status(status), late)}
    for name, case in _read(lines):
        if name not in cases or rank(case.outcome) > rank(cases[name].outcome):
            cases[name] = case
    return cases


def _of_status(status: int) -> str:
    return PASS if status == 0 else SKIP if status == _EXIT_SKIP else FAIL


def _read(lines: Iterable[str]) -> Iterator[tuple[str, Case]]:
    about = running = ""
    for line in lines:
        if match := _ABOUT.match(line):
            about = f"{match['about']}: "
        elif match := _TAP.match(line):
            yield _plain(f"{match['nr']} {about}{match['name']}"), _of_tap(match)
        elif match := _UFFD.match(line):
            yield _plain(match["name"]), Case(_UFFD_HOW[match["how"]], match["reason"] or "")
        elif match := _RUN_TEST.match(line):
            running = match["name"]
        elif running and (match := _COLOURED.search(line)):
            yield running, Case(_COLOURED_HOW[match["how"]])


def _of_tap(match: re.Match[str]) -> Case:
    what = (match["what"] or "").upper()
    if what == "SKIP":
        return Case(SKIP, match["reason"] or "")
    if what:
        return Case(XFAIL)
    return Case(FAIL if match["not"] else PASS)


def _plain(name: str) -> str:
    return _VARYING.sub("N", name).strip()


# Comparing


@dataclass(frozen=True)
class Compared:
    """One case, with its outcomes in all tries of both kernels."""

    name: str
    stock: tuple[str, ...]
    patched: tuple[str, ...]
    reason: str

    @property
    def differs(self) -> bool:
        """Whether no try of patched was as good as the best of stock."""
        return _best(self.patched) > _best(self.stock)

    @property
    def passes_on_stock(self) -> bool:
        return PASS in self.stock

    def both(self, outcome: str) -> bool:
        """Whether ``outcome`` is the best of both."""
        return _best(self.stock) == _best(self.patched) == rank(outcome)

    def __str__(self) -> str:
        stock, patched = (", ".join(outcomes) for outcomes in (self.stock, self.patched))
        return f"{self.name}: {stock} on stock; {patched} on patched"


def _best(outcomes: Sequence[str]) -> int:
    return min(map(rank, outcomes))


def compare(stock: Sequence[Cases], patched: Sequence[Cases]) -> list[Compared]:
    """The cases of one program, of which each kernel made one try or more."""
    names = dict.fromkeys(name for cases in (*stock, *patched) for name in cases)
    reasons = {name: case.reason for cases in reversed(stock) for name, case in cases.items()}
    return [
        Compared(name, _outcomes(stock, name), _outcomes(patched, name), reasons.get(name, ""))
        for name in names
    ]


def _outcomes(tries: Sequence[Cases], name: str) -> tuple[str, ...]:
    return tuple(cases[name].outcome if name in cases else MISSING for cases in tries)


def new_reports(stock: Iterable[str], patched: Iterable[str]) -> list[str]:
    """Kernel reports of patched that stock does not have; numbers and addresses apart."""
    of_stock = {_masked(report) for report in stock}
    return [report for report in dict.fromkeys(patched) if _masked(report) not in of_stock]


def _masked(report: str) -> str:
    return re.sub(r"0x[0-9a-f]+|(?<=pfn:)[0-9a-f]+|\d+", "N", report)
