# SPDX-License-Identifier: GPL-2.0-only
"""Which lines ran: what guests print, gcov's JSON, and the lines that are ours."""

from __future__ import annotations

import base64
import json

from padlab.check import gcov
from padlab.check.gcov import File
from padlab.kernel import instrument
from padlab.vm import channel


def document(name: str, *lines: tuple[int, int]) -> str:
    entries = [{"line_number": number, "count": count, "function_name": "f"} for number, count in lines]
    return json.dumps({"files": [{"file": name, "lines": entries}]})


def test_counters_of_a_guest() -> None:
    data = bytes(range(256))
    text = f"kernel 6.12\ngcda /obj/mm/deferred_init.gcda {base64.b64encode(data).decode()}\ndone 0\n"
    assert gcov.objects(channel.parse(text)) == {"/obj/mm/deferred_init.gcda": data}


def test_lines_of_a_header_add_up_over_objects() -> None:
    output = "\n".join(
        [
            document("../include/linux/padata_mt.h", (7, 0), (9, 2)),
            "a message of gcov",
            document("../include/linux/padata_mt.h", (7, 3), (9, 0), (11, 0)),
        ]
    )
    assert gcov.parse(output)["include/linux/padata_mt.h"].runs == {7: 3, 9: 2, 11: 0}


def test_boots_add_up() -> None:
    total = {"mm/a.c": File({1: 0, 2: 5}, {1: "f", 2: "f"})}
    gcov.add(total, {"mm/a.c": File({1: 1, 3: 0}, {1: "f", 3: "g"}), "mm/b.c": File({1: 0}, {1: "h"})})
    assert total["mm/a.c"].runs == {1: 1, 2: 5, 3: 0}
    assert total["mm/a.c"].functions[3] == "g"
    assert total["mm/b.c"].runs == {1: 0}


def test_new_lines_of_a_diff() -> None:
    diff = "--- a\n+++ b\n@@ -5,2 +5,3 @@ f\n-a\n-b\n+c\n+d\n+e\n@@ -9 +10 @@\n-x\n+y\n@@ -20,2 +20,0 @@\n-z\n-z\n"
    assert list(gcov.added_lines(diff)) == [5, 6, 7, 10]


def test_what_is_counted() -> None:
    counted = instrument.counted()
    assert {"kernel/padata_mt.c", "mm/page_alloc.c", "arch/x86/mm/memmap_bulk.c"} <= set(counted)
    # A file that only loses lines, and tests.
    assert not {"mm/memory.c", "lib/test_padata_mt.c", "kernel/padata_mt_kunit.c"} & set(counted)
