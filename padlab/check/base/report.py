# SPDX-License-Identifier: GPL-2.0-only
"""How checks went: told as they end, summed up, and as JSON.

At the end all that failed is reported again: of a CI run often only the last lines are
kept.  The last line has the sums.
"""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field

from padlab.core import progress
from padlab.core.outcome import Outcome

SHOWN_LINES = 20  # of what a failure has to say
AGAIN_LINES = 6  # of the same at the end


@dataclass(frozen=True)
class Report:
    """How a check went, in seconds; ``detail`` is what else its error said, ``kept`` what did not run."""

    name: str
    outcome: Outcome
    elapsed: float
    limit_s: float
    detail: list[str] = field(default_factory=list)
    kept: str = ""


def tell(report: Report, place: str) -> None:
    outcome = report.outcome
    verdict = "FAILED" if outcome.failures else "ok" if outcome.passed else "skipped"
    elapsed = progress.seconds(report.elapsed)
    kept = f", {report.kept}" if report.kept else ""
    lines = [f"{place} {report.name}: {verdict}, {summary(outcome)}, {elapsed}{kept}"]
    lines += [f"    skipped: {reason}" for reason in outcome.skips]
    lines += _failures(report, SHOWN_LINES, "failed")
    progress.result("\n".join(lines))


def conclude(reports: Sequence[Report], elapsed: float, durations: int = 0) -> int:
    """All of them, and how long the slowest took.  The exit status is 0 if all passed."""
    total = sum((report.outcome for report in reports), Outcome())
    slowest = sorted(reports, key=lambda report: -report.elapsed)[:durations]
    lines = [f"{progress.seconds(report.elapsed):>12}  {report.name}" for report in slowest]
    lines.append(f"took {progress.seconds(elapsed)}")
    for report in reports:
        if report.outcome.failures:
            lines += _failures(report, AGAIN_LINES, f"failed in {report.name}")
    progress.result("\n".join([*lines, summary(total)]))
    return 1 if total.failures or not total.passed else 0


def summary(total: Outcome) -> str:
    skipped = f", {len(total.skips)} skipped" if total.skips else ""
    return f"{total.passed} passed, {len(total.failures)} failed{skipped}"


def _failures(report: Report, limit: int, title: str) -> list[str]:
    outcome = report.outcome
    lines = []
    for failure in dict.fromkeys(outcome.failures):
        first, *rest = failure.splitlines() or [""]
        lines += [f"    {title}: {first}", *_cut(rest, limit)]
    lines += _cut(report.detail, limit)
    if outcome.failures and outcome.log:
        lines.append(f"    log: {outcome.log}")
    return lines


def _cut(lines: list[str], limit: int) -> list[str]:
    shown = [f"      {line}" for line in lines[:limit]]
    return [*shown, f"      ... and {len(lines) - limit} lines more"] if len(lines) > limit else shown


def to_junit(reports: Sequence[Report]) -> str:
    suite = ElementTree.Element("testsuite", name="padlab", tests=str(len(reports)))
    for report in reports:
        case = ElementTree.SubElement(suite, "testcase", name=report.name, time=f"{report.elapsed:.1f}")
        for failure in report.outcome.failures:
            message, _, text = failure.partition("\n")
            ElementTree.SubElement(case, "failure", message=message).text = text
        if not (report.outcome.passed or report.outcome.failures):
            ElementTree.SubElement(case, "skipped", message="; ".join(report.outcome.skips))
    suite.set("failures", str(sum(bool(report.outcome.failures) for report in reports)))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def to_json(reports: Sequence[Report]) -> str:
    """A check a line; times are in seconds."""
    rows = [
        {
            "name": report.name,
            "passed": report.outcome.passed,
            "failed": [failure.partition("\n")[0] for failure in report.outcome.failures],
            "skipped": list(report.outcome.skips),
            "seconds": round(report.elapsed, 1),
            "kept": report.kept,
        }
        for report in reports
    ]
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"
