# SPDX-License-Identifier: GPL-2.0-only
"""The lab's own lint, types and tests."""

import re
import sys
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from checks.declare import QUICK, Needs, each, row
from padlab.core import environment, paths, process, progress, stats
from padlab.core.outcome import Outcome, judge
from padlab.core.paths import ROOT, TESTS

LINT_NEEDS, TESTS_NEEDS = Needs(300), Needs(900)
CACHES = paths.SHARED / "lint/mypy"
# The guest's shell is busybox's: scripts there that are sourced say nothing themselves.
GUEST = ROOT / "padlab/guest"
_SHELL = re.compile(rb"^#!\s*\S*[/ ](sh|bash|dash|busybox)\b")
_AT = r"^\S+:\d+:\d+: "  # how the tools tell a finding
_NOT_OURS = {"build", ".git", ".venv", "__pycache__"}


def _python(module: str, *args: str, finding: str = _AT) -> Outcome:
    name = " ".join([module, *(arg for arg in args if not arg.startswith("-"))])
    return _judged(name, [sys.executable, "-m", module, *args], finding)


def _shellcheck() -> Outcome:
    command = [environment.program("dev", "shellcheck"), "--external-sources", "--source-path=SCRIPTDIR"]
    outcomes = (
        _judged(f"shellcheck {name}", [*command, "--format=gcc", f"--shell={name}", *scripts], _AT)
        for name, scripts in stats.group(shell_scripts(ROOT), dialect).items()
    )
    return sum(outcomes, Outcome())


def _judged(what: str, command: Sequence[object], finding: str) -> Outcome:
    """One case, which passes if there is no line that matches ``finding``."""
    log = paths.base().logs / f"lint-{what.replace(' ', '-')}.log"
    with progress.step(what):
        lines: list[str] = []
        status = process.stream(command, lines.append, what=what, cwd=ROOT, log=log, ok=process.ANY)
    problems = [line for line in lines if re.search(finding, line)]
    if status and not problems:
        problems = [f"{what} ended with status {status}: {lines[-1] if lines else 'no message'}"]
    return judge(problems, log)


_CONCISE = ("--output-format=concise", "--no-cache")
LINT: dict[str, Callable[[], Outcome]] = {
    "lint: ruff format": lambda: _python("ruff", "format", "--check", *_CONCISE),
    "lint: ruff check": lambda: _python("ruff", "check", *_CONCISE),
    "lint: mypy": lambda: _python("mypy", f"--cache-dir={CACHES}", "--no-error-summary", finding=": error: "),
    "lint: shellcheck": _shellcheck,
}


@each("run", (row(name, run, needs=LINT_NEEDS, when=QUICK) for name, run in LINT.items()))
def test_lint(run: Callable[[], Outcome]) -> Outcome:
    return run()


def shell_scripts(top: Path) -> Iterator[Path]:
    """Every file below ``top`` that is one by its first line or its suffix; nothing generated."""
    for path in sorted(top.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if path.name not in _NOT_OURS:
                yield from shell_scripts(path)
        elif path.is_file() and (path.suffix == ".sh" or _SHELL.match(_first_line(path))):
            yield path


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(100)


def dialect(path: Path) -> str:
    """bash, sh, or busybox for what runs in the guest."""
    if path.is_relative_to(GUEST):
        return "busybox"
    match = _SHELL.match(_first_line(path))
    return "bash" if match and match[1] == b"bash" else "sh"


# Parts that run at the same time, each with what pytest is told to choose it.  They read the
# tables, core edits and trees of the base in use, which they have from the environment.
PARTS = {
    "tests of the lab": ("-m", "not series", str(TESTS)),
    "tests of the mailable series": ("-m", "series", str(TESTS / "kernel")),
}


@each("part", (row(part, part, needs=TESTS_NEEDS, when=QUICK) for part in PARTS))
def test_lab(part: str) -> Outcome:
    report, log = (paths.base().logs / f"{part.replace(' ', '-')}.{kind}" for kind in ("xml", "log"))
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--color=no", "-p", "no:cacheprovider"]
    command += [f"--junitxml={report}", *PARTS[part]]
    with progress.step(part) as step:
        process.stream(command, step.update, what=part, cwd=ROOT, log=log, ok=(0, 1))
    return junit(report.read_text(), log)


def junit(text: str, log: Path) -> Outcome:
    passed, failures, skips = 0, [], []
    for case in xml.fromstring(text).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if bad is not None:
            failures.append(f"{name}: {(bad.get('message') or 'error').strip()}")
        elif skipped is not None:
            skips.append(f"{name}: {skipped.get('message') or 'no reason given'}")
        else:
            passed += 1
    return Outcome(passed, tuple(failures), tuple(skips), log)
