# SPDX-License-Identifier: GPL-2.0-only
"""Test results in KTAP, as KUnit and the kselftests print them.

The kernel tree has a parser, tools/testing/kunit/kunit_parser.py, which knows nested subtests, results that
are missing after a crash, and skips.  It is used here as a library; added are the few things that kselftests
do and KUnit does not, and a result that says which case failed and why.
"""

import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.vm import channel

_SKIP_ALL = re.compile(r"^1\.\.0\s+#\s*SKIP\s*(?P<reason>.*)$", re.IGNORECASE)
_BAIL_OUT = re.compile(r"^Bail out!\s*(?P<reason>.*)$")
_SKIP = re.compile(r"^\s*ok \d+ (?:- )?(?P<name>.*?)\s+# SKIP\s*(?P<reason>.*)$")
_PLAN = re.compile(r"^\s*1\.\.\d+")
_MAX_REASON = 4  # lines of a failed case's output that say why


def of_guest(guest: channel.Guest, tree: Path) -> Outcome:
    outcomes = (parse(lines, tree).named(name) for name, lines in guest.ktap.items())
    return sum(outcomes, Outcome())


def parse(lines: Iterable[str], tree: Path) -> Outcome:
    lines = [line.rstrip() for line in lines]
    skip_all = next((m for line in lines if (m := _SKIP_ALL.match(line.strip()))), None)
    if skip_all:
        return Outcome(skips=(skip_all["reason"] or "no reason given",))

    test = _parser(tree)(lines)
    reasons = {m["name"]: m["reason"] for line in lines if (m := _SKIP.match(line))}
    passed, failures, skips = 0, [], []
    for name, case in _below(test):
        if case.subtests:
            continue
        status = case.status.name
        if status == "SUCCESS":
            passed += 1
        elif status == "SKIPPED":
            skips.append(f"{name}: {reasons.get(case.name) or 'no reason given'}")
        else:
            said = [line.strip().lstrip("# ") for line in case.log if line.strip()]
            because = "; ".join(said[:_MAX_REASON])
            why = status.lower().replace("_", " ") + (f": {because}" if because else "")
            failures.append(f"{name}: {why}")
    return Outcome(passed, (*failures, *_broken(lines, test, len(failures))), tuple(skips))


def _below(test: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every test within, with its full name.  One without tests of its own is a case."""
    for part in test.subtests:
        name = f"{prefix}{part.name or '(no result line)'}"
        yield name, part
        yield from _below(part, f"{name}.")


def _broken(lines: list[str], test: Any, nr_failed: int) -> list[str]:
    problems = [f"bailed out: {m['reason']}" for line in lines if (m := _BAIL_OUT.match(line.strip()))]
    if not test.subtests:
        problems.append("no test results in the output")
    elif not any(_PLAN.match(line) for line in lines):
        problems.append("no plan in the output, so tests may be missing")
    if not problems and not nr_failed:
        # A parent failed by itself, or the numbering is wrong.
        for name, part in _below(test):
            if part.subtests and part.status.name not in ("SUCCESS", "SKIPPED"):
                problems.append(f"{name}: failed as a whole")
        if not problems and test.counts.errors:
            problems.append(f"{test.counts.errors} faults in the form of the output")
    return problems


@cache
def _parser(tree: Path) -> Callable[[list[str]], Any]:
    """The library's function.  It reports as it parses; here the caller does."""
    folder = tree / "tools/testing/kunit"
    if not (folder / "kunit_parser.py").exists():
        raise LabError("reading test results", f"{folder} is missing", "prepare the tree: ./lab tree")
    sys.path.insert(0, str(folder))
    try:
        parser: Any = import_module("kunit_parser")
        printer: Any = import_module("kunit_printer")
    finally:
        sys.path.remove(str(folder))
    silent = printer.Printer(output=io.StringIO())
    parse: Callable[..., Any] = parser.parse_run_tests
    if "printer" in signature(parse).parameters:
        return partial(parse, printer=silent)
    parser.stdout = silent  # on 6.12
    return parse
