# SPDX-License-Identifier: GPL-2.0-only
"""Tables as they are made from records, and in which form."""

import json
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.docs import native, records, source, tables
from padlab.docs.form import Table, figure, ratio
from padlab.kernel import owned

SLUG = "amd-family-25-model-1-2cpus"
HOST = "AMD EPYC (family 25, model 1), 2 CPUs"
MADE = {"command": "./lab x", "host": HOST, "commit": "abc1234", "date": "2026-01-02"}


class TestForm:
    TABLE = Table(("us", "before", "after"), [["one", "1,000", ""], ["twenty", "2", "1.5"]])

    def test_markdown(self) -> None:
        assert self.TABLE.markdown() == (
            "| us | before | after |\n| --- | --- | --- |\n| one | 1,000 | |\n| twenty | 2 | 1.5 |\n"
        )

    def test_mail(self) -> None:
        assert self.TABLE.mail() == "  us      before  after\n  one      1,000\n  twenty       2    1.5\n"

    def test_figures(self) -> None:
        assert (figure(1234.567), figure(1234.5, 0), figure(None)) == ("1,234.57", "1,234", "")
        assert (ratio(1.0, 3.0), ratio(None, 1.0), ratio(1.0, 0.0)) == ("0.33", "", "")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "RECORDED", tmp_path)
    return tmp_path


def record(results: Path, name: str, **data: object) -> None:
    path = results / "cpus" / SLUG / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**MADE, **data}))


def zeroed(kib: int, threads: int, way: str, us: float) -> dict[str, object]:
    return {"kib": kib, "threads": threads, "way": way, "us": {"median": us}, "cpu_us": {"median": 2 * us}}


def test_a_table_follows_its_record(results: Path) -> None:
    timed = ((1, "stock", 2e5), (1, "ours", 1e5), (2, "ours", 5e4))
    rows = [zeroed(1 << 20, *row) for row in timed]
    record(results, "hugepages.json", native=rows)
    assert tables.make(["zeroing-1-gib", "6.12"]).rows == [
        ["AMD EPYC (family 25, Zen 3), 2 CPUs", "200.0", "100.0 (0.50)", "50.0 (0.25)", "", "", ""]
    ]
    rows[1] = zeroed(1 << 20, 1, "ours", 1.5e5)
    record(results, "hugepages.json", native=rows)
    assert tables.make(["zeroing-1-gib", "6.12"]).rows[0][2] == "150.0 (0.75)"


def test_struct_pages_by_threads(results: Path) -> None:
    rows = [
        {"threads": threads, "way": way, "ns": {"median": ns / threads}}
        for threads in (1, 2)
        for way, ns in (("stock", 8.0), ("movnti", 4.0), ("limit", 2.0))
    ]
    record(results, "bench.json", benches=[{"bench": "userspace", "rows": rows, "uses": []}])
    table = native.by_threads("6.12", SLUG, "1")
    assert table.rows[1:] == [["2", "4.00", "2.00", "0.50", "1.00", "2.00", "1", "1"]]
    assert table.head[-2:] == ("1 GiB: stock, ms", "patched, ms")


def test_the_most_cpus_come_first(results: Path) -> None:
    record(results, "bench.json")
    other = results / "cpus" / "intel-family-6-model-207-16cpus" / "bench.json"
    other.parent.mkdir(parents=True)
    other.write_text(
        json.dumps({**MADE, "host": "Intel(R) Xeon(R) Processor (family 6, model 207), 16 CPUs"})
    )
    assert [records.cpu(record) for record in records.of_all("6.12", "bench.json").values()] == [
        "Intel Xeon (family 6, Emerald Rapids), 16 CPUs",
        "AMD EPYC (family 25, Zen 3), 2 CPUs",
    ]


class TestBadInput:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["none"], "there is none called 'none'; name one of: boots, "),
            (["core-edits"], "'core-edits' does not take nothing; name it as: core-edits BASE"),
            (["core-edits", "6.12", "x"], "'core-edits' does not take 6.12 x"),
            (["threads-made", "6.0", "x"], "there is no '6.0'; choose one of: 6.12"),
            (["after-parts", "stock", "9"], "what 'after-parts stock 9' is made from is not recorded"),
            (["zeroing", "6.12", "no-cpu"], "results/cpus/no-cpu/hugepages.json cannot be read"),
        ],
    )
    def test_a_marker(self, words: list[str], message: str) -> None:
        with pytest.raises(LabError) as fault:
            tables.make(words)
        assert message in str(fault.value)

    def test_a_record_that_lacks_something(self, results: Path) -> None:
        record(results, "hugepages.json")
        with pytest.raises(LabError, match="is not recorded .KeyError: 'native'.; record it again"):
            tables.make(["zeroing-1-gib", "6.12"])

    def test_a_host_that_says_no_cpu(self, results: Path) -> None:
        record(results, "hugepages.json", host="a machine")
        with pytest.raises(LabError, match="'a machine' does not say which CPU"):
            tables.make(["zeroing-1-gib", "6.12"])


@pytest.mark.parametrize("base", paths.bases()[1:])
def test_little_of_the_owned_files_differs(base: str) -> None:
    """In per cent: a changed line counts once."""
    folder = paths.BASES / base / "owned"
    changed = sum(max(edit.added, edit.removed) for edit in source.read_edits(folder))
    shared = owned.owned_files(paths.Base.named(paths.DEFAULT_BASE))
    files = [path for name, path in shared.items() if name not in owned.left_out(folder)]
    assert 0 < 100 * changed / sum(len(path.read_bytes().splitlines()) for path in files) < 5
