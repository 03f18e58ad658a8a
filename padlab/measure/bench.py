# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench``: struct page init at native speed, stock's way beside ours (docs/measuring.md).

Of the two programs, this runs the benchmark of the KUnit suite; the other one is in structpages.py.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from padlab.core import host, paths, process, progress, table
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.measure import provenance, rows, structpages, zeroing
from padlab.measure.tools import Measured, Timing
from padlab.measure.verdict import MAX_OF_BEST, Gate, Judged, Verdict, overall

_WHAT = "struct pages, UML"
UML = "obj-uml-bench"  # built without what slows it down
_MOST_GIB = 64  # of pages, which are never touched: 1 GiB of struct pages
_PAGES_PER_MIB_OF_MEMMAP = (1 << 20) // 64
# UML's memory is a file.  Mounts of a namespace of its own leave no trace.
_IN_TMPFS = 'mount -t tmpfs -o huge=always,size=95% none "$0" && TMPDIR="$0" exec "$@"'

_MEMORY = re.compile(r"# bulk_bench: bench: (\d+) pages in \d+ runs, (\d+) MiB")
_ROUND = re.compile(r"# bulk_bench: bench: round (\d+) (\w+) (\d+) ns")
_FAILED = re.compile(
    r"^\s*(not ok .*|# \w+: (?:EXPECTATION|ASSERTION) FAILED .*|Kernel panic.*)", re.MULTILINE
)
_OK = re.compile(r"(?m)^ok \d+ memmap_bulk\s*$")


def _uml_log() -> Path:
    return paths.base().logs / "bench-uml.log"


def parse_uml(text: str, note: str = "") -> Measured:
    failed, memory = _FAILED.search(text), _MEMORY.search(text)
    if failed or not (memory and _OK.search(text)):
        why = failed[1] if failed else "it came to no result"
        raise LabError(_WHAT, why, "see its log", log=_uml_log())
    timings = [
        Timing(structpages.DEFERRED, 1, structpages.OURS if way == "bulk" else way, int(ns), 1)
        for _nr, way, ns in _ROUND.findall(text)
    ]
    pages = int(memory[1])
    notes = (f"{pages:,} pages, {int(memory[2]):,} MiB of struct pages", note)
    return Measured(tuple(timings), notes, (), pages, structpages.UML)


def run_uml(program: Path, rounds: int) -> Measured:
    """The suite's benchmark, with as many pages as the host has memory for struct pages."""
    gib = min(_MOST_GIB, host.free_mib() // 2 * _PAGES_PER_MIB_OF_MEMMAP * 4096 >> 30)
    if not gib:
        raise LabError(_WHAT, "there is no memory for struct pages", "free some memory")
    command = [program, f"mem={gib}G", "console=tty", "kunit_shutdown=halt"]
    command += ["memmap_bulk_kunit.runs=1024", f"memmap_bulk_kunit.rounds={rounds}"]
    command += ["kunit.filter_glob=memmap_bulk.bulk_bench"]
    tmpfs = paths.base().build / "tmpfs"  # where one is mounted
    tmpfs.mkdir(parents=True, exist_ok=True)
    huge = ["unshare", "-m", "sh", "-c", _IN_TMPFS, str(tmpfs)]
    if subprocess.run([*huge, "true"], capture_output=True, check=False).returncode:
        huge = []  # not to be had here
    lines: list[str] = []
    with progress.step(_WHAT) as step:

        def show(line: str) -> None:
            lines.append(line)
            if match := _ROUND.search(line):
                step.update(f"round {match[1]} of {rounds}, {match[2]}")

        process.stream([*huge, *command], show, what=_WHAT, log=_uml_log())
    small = "small pages (no tmpfs with huge ones): TLB misses on both sides"
    note = "huge pages, as a kernel's memmap is" if huge else small
    return parse_uml("\n".join(lines), f"its memory is in {note}")


ROUNDS = 15
QUICK_ROUNDS = 5
# Exit status of --check: 2 is for a bad command line.
STATUS = {Verdict.PASSED: 0, Verdict.FAILED: 1, Verdict.OPEN: 3}


def main(quick: bool = False) -> int:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    what, args, log = "building User-mode Linux", ["build", f"--build_dir={UML}"], "bench-uml-build.log"
    tree = builds.kunit_uml(what, args, "kunit-bench.config", log=paths.base().logs / log)
    sizes = [f"--mib={structpages.QUICK_MIB}"] if quick else []
    runs = [run_uml(tree / UML / "linux", rounds), structpages.run(f"--rounds={rounds}", *sizes)]
    if not quick:
        provenance.record("bench.json", {**provenance.of_native("./lab bench"), "benches": benches(runs)})
    show(runs, rounds)
    return 0


def benches(runs: Sequence[Measured]) -> list[dict[str, Any]]:
    return [
        {
            "bench": measured.bench,
            "pages": measured.pages,
            "notes": measured.notes,
            "rows": structpages.rows(measured),
            "uses": structpages.use_rows(measured),
        }
        for measured in runs
    ]


def show(runs: Sequence[Measured], rounds: int) -> None:
    out = table.console()
    out.print(f"struct pages, ns per page, {rounds} rounds: {rows.LEGEND}", markup=False)
    out.print("[bold]initialised and freed[/]; alone: rounds in which not all threads took part")
    lines = [vars(row) for run in runs for row in structpages.rows(run)]
    out.print(rows.grid(lines, 2, ratio="of stock", movnti="movnti, ours"))
    out.print("[bold]initialised and used again at once[/], one thread")
    lines = [vars(row) for run in runs for row in structpages.use_rows(run)]
    out.print(rows.grid(lines, 2, ratio="of stock", **structpages.USES))
    for run in runs:
        out.print(f"{run.bench}: {'; '.join(run.notes)}", markup=False)


def gates(what: str | None) -> list[Gate]:
    extents = zeroing.stock_zeroes_extents()
    of: dict[str, list[Gate]] = {
        "memmap": [structpages.time_gate()],
        "hugepages": [
            zeroing.time_gate(extents),
            zeroing.sizes_gate(),
            zeroing.first_use_gate(extents),
            zeroing.copy_gate(),
            zeroing.first_use_gate(copies=True),
        ],
    }
    return [gate for name, group in of.items() if what in (None, name) for gate in group]


def check(what: str | None = None, quick: bool = False) -> int:
    """Measure, print and judge; nothing is recorded.  ``quick``: each gate has one run."""
    judged = [gate.judge(quick) for gate in gates(what)]
    verdict = overall(of_gate.verdict for of_gate in judged)
    show_judged(judged, verdict)
    return STATUS[verdict]


def show_judged(judged: Sequence[Judged], verdict: Verdict) -> None:
    out = table.console()
    out.print(host.cpu(), markup=False)
    for of_gate in judged:
        out.print(f"\n{of_gate.gate}, {of_gate.runs} runs")
        if of_gate.limits:
            out.print(rows.grid(limit.as_row() for limit in of_gate.limits))
        # Where another way of this CPU is better than what ours has chosen, which is no failure.
        others = [found for found in of_gate.bests if not found.is_ours]
        if of_gate.bests:
            ours = f"{len(of_gate.bests) - len(others)} of {len(of_gate.bests)}"
            out.print(f"at most {MAX_OF_BEST} of the best way that this CPU has: {ours}")
        if others:
            out.print(rows.grid({"": f.name, "best": f.way, "ours, of its time": f.ratio} for f in others))
    out.print()
    for of_gate in judged:
        busy = f", the host is too busy: {'; '.join(of_gate.busy)}" if of_gate.busy else ""
        why = busy if of_gate.verdict is Verdict.OPEN else ""
        out.print(f"{of_gate.gate}: {of_gate.verdict}{why}", markup=False)
    out.print(verdict)
