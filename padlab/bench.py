# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench``: struct page init at native speed on real memory, stock's way beside ours.

Two programs run the code that is in the kernel, on memory much larger than
caches.  The KUnit suite of mm/memmap_bulk.c under User-mode Linux calls the
kernel's own functions, on one CPU.  tools/testing/memmap_bulk compiles the same
files and the job engine in userspace, and runs them on 1 to all CPUs.

In each, the ways take turns, so that whatever else the host does hits all of
them.  What counts is the ratio of medians within one run.  A check of ``./lab test``
goes by what a busy host disturbs less: see gate.py.
"""

from __future__ import annotations

import csv
import io
import json as jsons
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from padlab import build as builds
from padlab import gate, hostpkgs, paths, progress, record, run, stats, table, tree
from padlab.errors import LabError
from padlab.outcome import Outcome, judge

COMMAND = "./lab bench"
MAX_RATIO = 0.6  # of stock's time per page, one thread
# The goal is the same on all CPUs, and is missed where these come up against what
# the memory takes: two threads here are within 15 % of bare streaming stores, and
# have 0.50 to 0.68 of stock's time.  This is what a change may not make worse.
MAX_RATIO_MANY = 0.8
UML, USERSPACE = "UML", "userspace"
ROUNDS = 15
QUICK_ROUNDS = 5
QUICK_MIB = 1024  # of struct pages
_UML_GIB = 64  # of pages, which are never touched: 1 GiB of struct pages
_PAGES_PER_MIB_OF_MEMMAP = (1 << 20) // 64
_PLACE = paths.BUILD / "memmap-bench"
_SOURCES = "tools/testing/memmap_bulk"
ENGINE_SOURCES = ("kernel/padata_mt.c", "kernel/padata_mt.h", "include/linux/padata.h")
_LIMIT_S = 900

# Bytes moved over the memory bus for a struct page of 64.
BYTES = {"stock": 128, "movnti": 64, "movdir64b": 64, "plain": 128}
_BYTES_WHY = (
    "bytes per page are computed, not measured: a plain store reads the line for ownership and writes it",
    "back later (stock's second and third pass find the block's 64 KiB in the core's cache), a",
    "non-temporal one writes it.  One page in 1024, the head of a block, is stored plainly by all",
)
SHOWS = {
    UML: (
        "shows: mm/memmap_bulk.c, x86's stores and the page allocator as they are in the kernel, one CPU",
        "shows not: threads, sections (UML has none: the suite takes 128 MiB at a time, like x86-64),",
        "  NUMA, boot itself.  Stock's side has __init_single_page() inlined, as stock's loop has it",
    ),
    USERSPACE: (
        "shows: the same two files and the job engine as they are, on 1 to all CPUs, in huge pages",
        "shows not: how helpers start (both sides have threads that wait), a real page allocator (both",
        "  sides free to one list, with the kernel's loads and stores written out), more than 64 CPUs",
    ),
}


# What the programs say


@dataclass(frozen=True)
class Timing:
    """One way, once over all pages."""

    threads: int
    way: str
    ns: int
    ran: int  # threads that took part


@dataclass(frozen=True)
class Measured:
    """All rounds of a program.  ``failure`` is what it says is wrong."""

    bench: str
    pages: int = 0
    timings: tuple[Timing, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str = ""
    ended: bool = False


_KINDS_OF_STORES = 3  # movnti, movdir64b, and that emulated
_UML_MEMORY = re.compile(r"# bulk_bench: bench: (\d+) pages in \d+ runs, (\d+) MiB")
_UML_ROUND = re.compile(r"# bulk_bench: bench: round \d+ (\w+) (\d+) ns")
_UML_FAILED = re.compile(r"^\s*(not ok .*|# \w+: (?:EXPECTATION|ASSERTION) FAILED .*|Kernel panic.*)")
_UML_OK = re.compile(r"^ok \d+ memmap_bulk$")
_PREFIX = "memmap_bench: "
_MEMORY = re.compile(r"^memory: (\d+) pages, (.*)$")
_ROUND = re.compile(r"^round \d+ threads (\d+) ran (\d+) (\w+) (\d+) ns$")
_STORES = re.compile(r"^stores: ([\w ]+): (\d+) runs, (\d+) instructions emulated, seed (\S+)$")


def parse_uml(lines: Iterable[str], stores: str = "movnti") -> Measured:
    """Read the kernel's console; ``stores`` is what the kernel chose."""
    pages, timings, notes, ended = 0, [], [], False
    for line in lines:
        if match := _UML_MEMORY.search(line):
            pages = int(match[1])
            notes.append(f"{pages:,} pages, {int(match[2]):,} MiB of struct pages")
        elif match := _UML_ROUND.search(line):
            way = stores if match[1] == "bulk" else match[1]
            timings.append(Timing(1, way, int(match[2]), 1))
        elif match := _UML_FAILED.match(line):
            return Measured(UML, pages, tuple(timings), tuple(notes), match[1], ended=True)
        elif _UML_OK.match(line.rstrip()):
            ended = True
    return Measured(UML, pages, tuple(timings), tuple(notes), ended=ended)


def said(lines: Iterable[str], prefix: str) -> tuple[list[str], str, bool]:
    """What one of our programs says: its lines, what failed ("" if nothing), and whether it came to its end."""
    texts, ended = [], False
    for line in lines:
        if not line.startswith(prefix):
            continue
        text = line.removeprefix(prefix).rstrip()
        if text.startswith("FAILED: "):
            return texts, text.removeprefix("FAILED: "), True
        if text == "ok":
            ended = True
        else:
            texts.append(text)
    return texts, "", ended


def parse_userspace(lines: Iterable[str]) -> Measured:
    """Read memmap_bench's output, of its benchmark or of its checks."""
    pages, timings, notes = 0, [], []
    texts, failure, ended = said(lines, _PREFIX)
    for text in texts:
        if match := _ROUND.match(text):
            timings.append(Timing(int(match[1]), match[3], int(match[4]), int(match[2])))
        elif match := _MEMORY.match(text):
            pages = int(match[1])
            notes.append(f"{pages:,} pages, {match[2]}")
        else:
            notes.append(text)
    return Measured(USERSPACE, pages, tuple(timings), tuple(notes), failure, ended)


def problems(measured: Measured, status: int = 0) -> list[str]:
    """What is wrong with a run."""
    if measured.failure:
        return [measured.failure]
    if not measured.ended:
        return [f"it ended with status {status} and no result"]
    return [f"it says ok and ended with status {status}"] if status else []


# What it comes to


@dataclass(frozen=True)
class Row:
    """A way on so many threads, in ns per page, beside stock's on as many."""

    bench: str
    threads: int
    way: str
    ns: stats.Summary
    ratio: stats.Ratio | None  # None: this is stock
    bytes: int
    alone: int  # rounds in which not all threads took part


def rows(measured: Measured) -> list[Row]:
    found = stats.group(measured.timings, lambda timing: (timing.threads, timing.way))
    result = []
    for threads in sorted({threads for threads, _ in found}):
        if (threads, "stock") not in found:
            raise LabError(f"bench, {measured.bench}", "stock was not timed", "see its log")
        stock = _per_page(found[threads, "stock"], measured.pages)
        for way in BYTES:
            timings = found.get((threads, way))
            if not timings:
                continue
            ns = _per_page(timings, measured.pages)
            ratio = None if way == "stock" else stats.ratio(stock, ns)
            alone = sum(timing.ran < threads for timing in timings)
            result.append(Row(measured.bench, threads, way, ns, ratio, BYTES[way], alone))
    return result


def _per_page(timings: Iterable[Timing], pages: int) -> stats.Summary:
    return stats.summarize([timing.ns / pages for timing in timings])


def too_slow(table_rows: Iterable[Row], stores: str) -> list[str]:
    """Where what the kernel runs, ``stores``, takes more than it may."""
    found = []
    for row in table_rows:
        if row.way != stores or row.ratio is None or row.ratio.value is None:
            continue
        most = MAX_RATIO if row.threads == 1 else MAX_RATIO_MANY
        if row.ratio.value > most:
            found.append(
                f"{row.bench}, {row.threads} threads: {row.ratio.value:.2f} of stock's time per page, "
                f"not {most} ({row.ns.median:.2f} ns)"
            )
    return found


def cpu_stores() -> str:
    """Which stores the kernel chooses on this CPU."""
    return "movdir64b" if re.search(r"^flags.*\bmovdir64b\b", _cpuinfo(), re.MULTILINE) else "movnti"


def _cpuinfo() -> str:
    return Path("/proc/cpuinfo").read_text()


# Building and running


def build_uml() -> Path:
    """User-mode Linux with the suite and nothing that slows it down."""
    place = builds.kunit_uml(
        "building User-mode Linux",
        ["build", "--build_dir=obj-uml-bench"],
        "kunit-bench.config",
        log=paths.LOGS / "bench-uml-build.log",
    )
    return place / "obj-uml-bench/linux"


def build_userspace() -> Path:
    """memmap_bench, which runs bulk initialisation and the engine."""
    sources = ("mm/memmap_bulk.c", "arch/x86/mm/memmap_bulk.c", "include/linux/memmap_bulk.h")
    return build_tool(_SOURCES, "memmap_bench", sources, _PLACE)


def build_tool(folder: str, name: str, sources: Sequence[str], place: Path) -> Path:
    """A program of ``folder`` in the tree, from nothing whenever one of its sources changed."""
    top = tree.ensure_tree("patched")
    hostpkgs.ensure("build")
    files = [*sorted((top / folder).iterdir()), *sorted((top / "tools/testing/padata").iterdir())]
    files += [top / source for source in (*ENGINE_SOURCES, *sources)]
    key = tree.digest([_compiler(), *(f"{file.name} {tree.fingerprint(file)}" for file in files)])
    stamp = place / ".padlab-sources"
    if not (stamp.exists() and stamp.read_text() == key):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        stamp.write_text(key)
    command = ["make", "-s", "-j2", "-C", top / folder, f"O={place}"]
    run.run(command, what=f"building {name}", log=paths.LOGS / f"{name}-build.log")
    return place / name


def _compiler() -> str:
    output = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False).stdout
    return output.splitlines()[0] if output else "unknown"


def run_uml(program: Path, rounds: int) -> Measured:
    """The suite's benchmark, with as many pages as the host has memory for struct pages."""
    gib = _free_mib() // 2 * _PAGES_PER_MIB_OF_MEMMAP * 4096 >> 30
    gib = min(_UML_GIB, gib)
    if not gib:
        raise LabError("bench, UML", "there is no memory for struct pages", "free some memory")
    command = [program, f"mem={gib}G", "console=tty", "kunit_shutdown=halt"]
    command += ["memmap_bulk_kunit.runs=1024", f"memmap_bulk_kunit.rounds={rounds}"]
    command += ["kunit.filter_glob=memmap_bulk.bulk_bench"]
    huge = _huge_tmpfs()
    lines: list[str] = []
    with progress.step("bench, UML"):
        run.stream(
            [*huge, *command],
            lines.append,
            what="bench, UML",
            log=paths.LOGS / "bench-uml.log",
            timeout=_LIMIT_S,
        )
    measured = parse_uml(lines, cpu_stores())
    note = "its memory is in huge pages, as a kernel's memmap is"
    if not huge:
        note = "its memory is in small pages, no tmpfs with huge ones can be mounted: both sides wait for TLB misses"
    return Measured(UML, measured.pages, measured.timings, (*measured.notes, note), measured.failure, measured.ended)


# UML's memory is a file.  Mounts of a namespace of its own leave no trace.
_IN_TMPFS = 'mount -t tmpfs -o huge=always,size=95% none "$0" && TMPDIR="$0" exec "$@"'


def _huge_tmpfs() -> list[str]:
    """What to put before a command to give it a tmpfs of huge pages; nothing if that cannot be."""
    _PLACE.mkdir(parents=True, exist_ok=True)
    place = _PLACE / "tmpfs"
    place.mkdir(exist_ok=True)
    prefix = ["unshare", "-m", "sh", "-c", _IN_TMPFS, str(place)]
    done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if done.returncode == 0 else []


def _free_mib() -> int:
    match = re.search(r"^MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(match[1]) >> 10 if match else 0


def run_userspace(program: Path, *args: str) -> tuple[Measured, int]:
    """memmap_bench with ``args``, and its exit status."""
    lines, status = run_tool(program, *args, log=_log())
    return parse_userspace(lines), status


def run_tool(program: Path, *args: str, log: Path) -> tuple[list[str], int]:
    """What a program of build_tool() prints, and its exit status, whichever that is."""
    lines: list[str] = []
    status = run.stream(
        [program, *args],
        lines.append,
        what=program.name,
        log=log,
        timeout=_LIMIT_S,
        ok=range(-64, 256),
    )
    return lines, status


def _log() -> Path:
    return paths.LOGS / "memmap-bench.log"


# The command


def main(quick: bool = False, json: bool = False) -> int:
    """Build and run both; print, and record unless it was quick."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    program, uml = build_userspace(), build_uml()
    runs, bad = [run_uml(uml, rounds)], []
    sizes = [f"--mib={QUICK_MIB}"] if quick else []
    with progress.step("bench, userspace"):
        measured, status = run_userspace(program, f"--rounds={rounds}", *sizes)
    runs.append(measured)
    for each, code, log in ((runs[0], 0, paths.LOGS / "bench-uml.log"), (measured, status, _log())):
        bad += [f"{each.bench}: {line} (log: {log})" for line in problems(each, code)]
    if bad:
        raise LabError("bench", bad[0], "see the log", detail=bad[1:])

    result = as_dict(runs)
    recorded = []
    if not quick:
        recorded = [record.path_of("bench.json"), record.path_of("bench.csv")]
        record.write_json(recorded[0], result)
        record.write(recorded[1], to_csv(runs))
    if json:
        print(jsons.dumps(result, indent=2))
    else:
        show(runs)
        for path in recorded:
            table.console().print(f"recorded in {path}", markup=False)
    return 0


def provenance(command: str = COMMAND) -> dict[str, str]:
    return {
        "command": command,
        "source": f"linux-source-6.12 {tree.source_version()}",
        "compiler": _compiler(),
        "host": record.host(),
    }


def as_dict(runs: Sequence[Measured]) -> dict[str, Any]:
    return {
        **provenance(),
        "cannot_show": {bench: " ".join(lines) for bench, lines in SHOWS.items()},
        "bytes_per_page": " ".join(_BYTES_WHY),
        "kernel_stores": cpu_stores(),
        "benches": [
            {
                "bench": measured.bench,
                "pages": measured.pages,
                "notes": list(measured.notes),
                "rows": [asdict(row) for row in rows(measured)],
            }
            for measured in runs
        ],
    }


def to_csv(runs: Sequence[Measured]) -> str:
    notes = "".join(f"# {key}: {value}\n" for key, value in provenance().items())
    return notes + to_csv_rows(runs)


def to_csv_rows(runs: Sequence[Measured]) -> str:
    """Every round, in the order in which they were done."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["bench", "pages", "threads", "took_part", "way", "ns", "ns_per_page"])
    for measured in runs:
        for timing in measured.timings:
            per_page = f"{timing.ns / measured.pages:.3f}"
            writer.writerow(
                [measured.bench, measured.pages, timing.threads, timing.ran, timing.way, timing.ns, per_page]
            )
    return out.getvalue()


def show(runs: Sequence[Measured]) -> None:
    """One table, what is wrong with it, and what it can show."""
    out = table.console()
    out.print("struct pages initialised and freed, ns per page (median, least and most)")
    names = ("bench", "threads", "way", "n", "median", "min", "max", "of stock", "bytes")
    grid = table.grid(names, left={"bench", "way"})
    chosen, warnings = cpu_stores(), []
    for measured in runs:
        for row in rows(measured):
            figures = [f"{value:.2f}" for value in (row.ns.median, row.ns.low, row.ns.high)]
            way = f"{row.way}, ours" if row.way == chosen else row.way
            grid.add_row(row.bench, str(row.threads), way, str(row.ns.n), *figures, table.ratio(row.ratio), str(row.bytes))
            warnings += _warnings(row)
    out.print(grid)
    for line in warnings:
        out.print(f"[yellow]warning:[/] {table.plain(line)}")
    for measured in runs:
        out.print("\n".join([f"\n{measured.bench}: {'; '.join(measured.notes)}", *SHOWS[measured.bench]]), markup=False)
    out.print("\n" + "\n".join(_BYTES_WHY), markup=False)


def _warnings(row: Row) -> list[str]:
    found = []
    name = f"{row.bench}, {row.threads} threads, {row.way}"
    if row.ratio and row.ratio.noise:
        found.append(f"{name}: the ratio means nothing: {row.ratio.noise}")
    if row.alone:
        found.append(f"{name}: in {row.alone} rounds not all threads took part: the host is busy")
    return found


# Checks of ./lab test


def check_stores() -> Outcome:
    """Both of x86's stores against the portable loop, and the outcome of all ways."""
    program = build_userspace()
    with progress.step("struct pages in userspace"):
        measured, status = run_userspace(program, "--check")
    for note in measured.notes:
        progress.note(note)
    found = problems(measured, status)
    if not found and sum(bool(_STORES.match(note)) for note in measured.notes) != _KINDS_OF_STORES:
        found = ["it did not check all kinds of stores"]
    return judge(found, _log())


def time_gate() -> Outcome:
    """No more of stock's time than allowed, on one CPU and on all."""
    program = build_userspace()
    alone: list[Timing] = []

    def measure() -> list[str]:
        with progress.step("bench, userspace"):
            measured, status = run_userspace(program, f"--rounds={gate.ROUNDS}", f"--mib={QUICK_MIB}")
        if bad := problems(measured, status):
            raise LabError("memmap_bench", bad[0], "see its log", log=_log())
        best = gate.judged(alone, measured.timings, key=lambda t: (t.threads, t.way))
        ours = [row for row in rows(replace(measured, timings=tuple(best))) if row.way == cpu_stores()]
        gate.need("memmap_bench", {1, os.cpu_count() or 1} - {row.threads for row in ours}, _log())
        for row in ours:
            if row.ratio and row.ratio.value is not None:
                progress.note(f"{row.threads} threads: {row.ratio.value:.2f} of stock's time per page")
        return too_slow(ours, cpu_stores())

    return judge(gate.until_met(measure), _log())
