# SPDX-License-Identifier: GPL-2.0-only
"""No check of ./lab test decides by a clock.

How fast a host is, and what else it does, must not make a correct kernel fail.  So whatever reads
a clock, in checks, in what runs in guests and in the kernel's own tests, is listed here, with what
it is for.  Allowed are: time limits that end what hangs, many times what a slow host needs; times
that are reported; and guests whose clock counts instructions.
"""

import re
from pathlib import Path

from padlab.core import paths

HANGS = "ends what hangs"
REPORTED = "is reported"
WORK = "what a thread does, as long as it is told to"

# How many lines read a clock, and what for.
ALLOWED = {
    # ./lab
    "checks/plugin.py": (1, "which boots are of this run"),
    "checks/processes.py": (7, f"{HANGS}, or {REPORTED}"),
    "checks/cached.py": (1, "which boots are of this run"),
    "checks/mutants/mutants.py": (4, REPORTED),
    "checks/boot/test_costs.py": (2, "instructions: of boots in exact mode"),
    "checks/faults/unaccepted-memory.patch": (2, REPORTED),
    # Guests
    "padlab/guest/accept.sh": (7, "of guests that count instructions; between looks at what is awaited"),
    "padlab/guest/boot.sh": (1, REPORTED),
    "padlab/guest/users.sh": (1, "between looks at what is awaited"),
    # The kernel's own tests
    "linux/kernel/test_padata_mt.c": (4, WORK),
    "linux/kernel/padata_mt_kunit.c": (3, HANGS),
    "linux/mm/memmap_bulk_kunit.c": (2, REPORTED),
    "linux/tools/testing/selftests/padata/functions.sh": (3, "between looks at what is awaited; of time"),
    "linux/tools/testing/selftests/padata/test_priority.sh": (1, "before a job, repeated without help"),
    "linux/tools/testing/selftests/padata/hugepages.c": (1, REPORTED),
    "linux/tools/testing/selftests/padata/load.c": (1, "for test_time_*"),
}
# Their guests' clock counts instructions.
EXACT = "test_time_"

READS = {
    ".py": (
        r"\btime\.(monotonic|perf_counter|time|process_time|thread_time)(_ns)?\b|\bperf_counter\b",
        r"\bdatetime\b.*\bnow\b|\bgetrusage\b",
        r"\.(deferred_ms|boot_ms|elapsed|wall_s|clock|stamps)\b",
    ),
    ".sh": (
        r"/proc/uptime|\bnow_ms\b|\belapsed_ns\b",
        r"\bdate [+-]|\$\(date\)|\bEPOCH(REALTIME|SECONDS)\b|\$SECONDS\b",
        r"(?<!=)\bsleep [\d.$]",  # for as long as something is thought to take
    ),
    ".c": (
        r"\bktime_(get|ms_delta|before|after)\w*|\b(local|sched)_clock\b|\bhrtimer_start\b",
        r"\btime_(before|after)\b|\bclock_gettime\b|\bgettimeofday\b|\b(time|sleep)\(",
    ),
}

PLACES = (
    *("checks", "padlab/guest", "linux/tools/testing/selftests/padata"),
    *("linux/kernel/test_padata_mt.c", "linux/kernel/padata_mt_kunit.c", "linux/mm/memmap_bulk_kunit.c"),
)


def read_by(path: Path) -> list[str]:
    """Lines that read a clock, or sleep instead."""
    patch = path.suffix == ".patch"
    lines = path.read_text().splitlines()
    if patch:  # what it adds
        lines = [line[1:] for line in lines if line.startswith("+")]
    code = (line.strip() for line in lines if not line.strip().startswith(("#", "*", "/*")))
    return [
        line
        for line in code
        if any(re.search(regex, line) for regex in READS[".c" if patch else path.suffix])
    ]


def readers() -> dict[str, int]:
    places = [paths.ROOT / place for place in PLACES]
    files = [file for place in places for file in (place.rglob("*.*") if place.is_dir() else [place])]
    read = [file for file in files if file.suffix in (*READS, ".patch") and not file.name.startswith(EXACT)]
    numbers = {str(file.relative_to(paths.ROOT)): len(read_by(file)) for file in read}
    return {name: number for name, number in numbers.items() if number}


def test_who_reads_a_clock_is_known_not_to_decide_by_it() -> None:
    known = {name: number for name, (number, _reason) in ALLOWED.items()}
    assert readers() == known, (
        "decide by events, measure in ./lab bench --check or test_time_*, or say what it is for"
    )
