# SPDX-License-Identifier: GPL-2.0-only
"""Struct pages under User-mode Linux: the KUnit suite's benchmark, on one CPU."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from padlab.core import host, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.measure import structpages, tools

LOG = paths.LOGS / "bench-uml.log"
_WHAT = "struct pages, UML"
_MOST_GIB = 64  # of pages, which are never touched: 1 GiB of struct pages
_PAGES_PER_MIB_OF_MEMMAP = (1 << 20) // 64
_TMPFS = paths.BUILD / "tmpfs"  # where one is mounted

_MEMORY = re.compile(r"# bulk_bench: bench: (\d+) pages in \d+ runs, (\d+) MiB")
_ROUND = re.compile(r"# bulk_bench: bench: round (\d+) (\w+) (\d+) ns")
_FAILED = re.compile(r"^\s*(not ok .*|# \w+: (?:EXPECTATION|ASSERTION) FAILED .*|Kernel panic.*)")
_OK = re.compile(r"^ok \d+ memmap_bulk$")


def parse(lines: Iterable[str], note: str = "") -> structpages.Measured:
    """Read the kernel's console; an error if it tells of no good end."""
    pages, timings, notes, bad = 0, [], [], "it came to no result"
    for line in lines:
        if match := _MEMORY.search(line):
            pages = int(match[1])
            notes.append(f"{pages:,} pages, {int(match[2]):,} MiB of struct pages")
        elif match := _ROUND.search(line):
            way = structpages.OURS if match[2] == "bulk" else match[2]
            timings.append(structpages.Timing(1, way, int(match[3]), 1))
        elif match := _FAILED.match(line):
            bad = match[1]
            break
        elif _OK.match(line.rstrip()):
            bad = ""
    if bad:
        raise LabError(_WHAT, bad, "see its log", log=LOG)
    return structpages.Measured(structpages.UML, pages, tuple(timings), (*notes, note))


def build() -> Path:
    """User-mode Linux with the suite and nothing that slows it down."""
    place = builds.kunit_uml(
        "building User-mode Linux",
        ["build", "--build_dir=obj-uml-bench"],
        "kunit-bench.config",
        log=paths.LOGS / "bench-uml-build.log",
    )
    return place / "obj-uml-bench/linux"


def run(program: Path, rounds: int) -> structpages.Measured:
    """The suite's benchmark, with as many pages as the host has memory for struct pages."""
    gib = min(_MOST_GIB, host.free_mib() // 2 * _PAGES_PER_MIB_OF_MEMMAP * 4096 >> 30)
    if not gib:
        raise LabError(_WHAT, "there is no memory for struct pages", "free some memory")
    command = [program, f"mem={gib}G", "console=tty", "kunit_shutdown=halt"]
    command += ["memmap_bulk_kunit.runs=1024", f"memmap_bulk_kunit.rounds={rounds}"]
    command += ["kunit.filter_glob=memmap_bulk.bulk_bench"]
    huge = _huge_tmpfs()
    lines: list[str] = []
    # Each round stores the struct pages once for each way, some of them twice.
    work = 2 * rounds * len(structpages.WAYS) * (gib << 30) // 64
    with progress.step(_WHAT) as step:

        def show(line: str) -> None:
            lines.append(line)
            if match := _ROUND.search(line):
                step.update(f"round {match[1]} of {rounds}, {match[2]}")

        limit = tools.START_S + work / tools.SLOWEST_BYTES_PER_S
        process.stream([*huge, *command], show, what=_WHAT, log=LOG, timeout=limit)
    if huge:
        return parse(lines, "its memory is in huge pages, as a kernel's memmap is")
    return parse(lines, "its memory is in small pages (no tmpfs with huge ones): TLB misses on both sides")


# UML's memory is a file.  Mounts of a namespace of its own leave no trace.
_IN_TMPFS = 'mount -t tmpfs -o huge=always,size=95% none "$0" && TMPDIR="$0" exec "$@"'


def _huge_tmpfs() -> list[str]:
    """What to put before a command to give it a tmpfs of huge pages; nothing if that cannot be."""
    _TMPFS.mkdir(parents=True, exist_ok=True)
    prefix = ["unshare", "-m", "sh", "-c", _IN_TMPFS, str(_TMPFS)]
    done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if done.returncode == 0 else []
