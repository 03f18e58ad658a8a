# SPDX-License-Identifier: GPL-2.0-only
"""Which lines ran: what guests print, gcov's JSON, and the lines that are ours."""

from __future__ import annotations

import base64
import json
from pathlib import Path

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


def test_lines_that_a_diff_leaves() -> None:
    old, new = "abcdefghij", "aXbcdeYYZhij"
    diff = "--- a\n+++ b\n@@ -1,0 +2 @@\n+X\n@@ -6,2 +7,3 @@\n-f\n-g\n+Y\n+Y\n+Z\n"
    lines = gcov.same_lines(diff, len(old))
    assert {old[a - 1]: new[b - 1] for a, b in lines.items()} == {c: c for c in "abcdehij"}
    assert gcov.same_lines("@@ -2 +1,0 @@\n-b\n", 3) == {1: 1, 3: 2}
    assert gcov.same_lines("", 2) == {1: 1, 2: 2}


def test_what_ran_of_another_tree(tmp_path: Path) -> None:
    for tree, text in (("faulty", "a\nfault\nb\n"), ("patched", "a\nb\n")):
        (tmp_path / tree).mkdir()
        (tmp_path / tree / "f.c").write_text(text)
        (tmp_path / tree / "g.c").write_text("same\n")
    (tmp_path / "faulty/only.c").write_text("x\n")
    ran = {
        "f.c": File({1: 4, 2: 9, 3: 5}, {1: "f", 2: "fault", 3: "g"}),
        "g.c": File({1: 2}, {1: "h"}),
        "only.c": File({1: 1}, {1: "o"}),
    }
    found = gcov.moved(ran, tmp_path / "faulty", tmp_path / "patched")
    assert found == {"f.c": File({1: 4, 2: 5}, {1: "f", 2: "g"}), "g.c": ran["g.c"]}


def test_what_is_counted() -> None:
    counted = instrument.counted()
    assert {"kernel/padata_mt.c", "mm/page_alloc.c", "arch/x86/mm/memmap_bulk.c"} <= set(counted)
    # A file that only loses lines, and tests.
    assert not {"mm/memory.c", "lib/test_padata_mt.c", "kernel/padata_mt_kunit.c"} & set(counted)
