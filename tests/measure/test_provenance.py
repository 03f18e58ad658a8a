# SPDX-License-Identifier: GPL-2.0-only
"""How results are recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from padlab.core import host, paths
from padlab.measure import provenance

DATA = {"command": "./lab growth", "unit": "ms"}


@pytest.mark.parametrize("as_json", [False, True])
def test_a_result_is_written_and_shown_or_printed(
    as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    provenance.record("x.json", DATA, as_json, lambda: print("a table"))
    out = capsys.readouterr().out
    assert json.loads((tmp_path / "x.json").read_text()) == DATA
    if as_json:
        assert json.loads(out) == DATA
    else:
        assert out == f"a table\nrecorded in {tmp_path / 'x.json'}\n"


CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
stepping\t: 1
"""


@pytest.fixture
def zen5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO)
    monkeypatch.setattr(host, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(host.os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("zen5", "default_base")
@pytest.mark.parametrize(
    ("name", "of_cpu"),
    [
        ("bench.json", True),
        ("hugepages.json", True),
        ("starts.json", True),
        ("boots.json", True),
        ("compare-tiny-exact.json", False),
        ("growth.json", False),
        ("parts.json", False),
        ("predict-large.csv", False),
    ],
)
def test_what_depends_on_the_cpu_has_a_folder(name: str, of_cpu: bool) -> None:
    folder = paths.RECORDED / "cpus/amd-family-26-model-2-2cpus" if of_cpu else paths.RECORDED
    assert provenance.path_of(name) == folder / name


def test_the_table_above_the_module_has_the_same_names() -> None:
    common, _, of_cpu = (provenance.__doc__ or "").partition("folder of that CPU")
    for text, expected in ((common, False), (of_cpu, True)):
        names = re.findall(r"^    (?:results/)?(\S+\.(?:json|csv|png))(?:, \.\w+)?  ", text, re.MULTILINE)
        assert len(names) >= 4
        assert [name for name in names if provenance.is_of_cpu(name) != expected] == []


def test_results_of_all_cpus_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "RECORDED", tmp_path)
    slugs = ["amd-family-9-model-1", "amd-family-25-model-17", "amd-family-25-model-160"]
    for slug in reversed(slugs):
        (tmp_path / "7.3/cpus" / slug).mkdir(parents=True)
        (tmp_path / "7.3/cpus" / slug / "bench.json").write_text("{}")
    found = provenance.of_cpus("bench.json", "7.3")
    assert list(found) == slugs
    assert found[slugs[0]] == tmp_path / "7.3/cpus/amd-family-9-model-1/bench.json"
    assert provenance.of_cpus("bench.json", "6.12") == provenance.of_cpus("hugepages.json", "7.3") == {}


@pytest.mark.usefixtures("zen5")
def test_nothing_of_another_cpu_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    provenance.write_json(provenance.path_of("bench.json"), {"of": 2})
    host.CPUINFO.write_text(CPUINFO.replace(": 26", ": 25"))
    provenance.write_json(provenance.path_of("bench.json"), {"of": 1})
    assert [json.loads(path.read_text())["of"] for path in sorted(tmp_path.glob("cpus/*/bench.json"))] == [
        1,
        2,
    ]


def test_another_number_of_cpus_has_a_folder_of_its_own(zen5: None, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = provenance.path_of("bench.json").parent.name
    monkeypatch.setattr(host.os, "cpu_count", lambda: 16)
    assert (folder, provenance.path_of("bench.json").parent.name) == (
        "amd-family-26-model-2-2cpus",
        "amd-family-26-model-2-16cpus",
    )


def test_a_row_is_a_line() -> None:
    rows = [{"a": {"median": 1}, "b": [1, 2]}, {"a": None}]
    data = {"x": "y", "rows": rows, "by": {"n": {"a": 1}, "m": {"a": 2}}, "one": {"a": 1}, "none": []}
    text = provenance.to_text(data)
    assert json.loads(text) == data
    assert text.splitlines() == [
        "{",
        ' "x": "y",',
        ' "rows": [',
        '  {"a": {"median": 1}, "b": [1, 2]},',
        '  {"a": null}',
        " ],",
        ' "by": {',
        '  "n": {"a": 1},',
        '  "m": {"a": 2}',
        " },",
        ' "one": {"a": 1},',
        ' "none": []',
        "}",
    ]


def test_what_is_kept_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    assert provenance.keep("a.json", {"a": 1}) == tmp_path / "records/a.json"
    assert json.loads((tmp_path / "records/a.json").read_text()) == {"a": 1}
    assert provenance.keep("a.csv", "a,b\n").read_text() == "a,b\n"


def test_every_result_has_its_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance.tree, "source_version", lambda: "6.12.1-1")
    monkeypatch.setattr(provenance.compiler, "name", lambda: "gcc")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", provenance.of_native("./lab bench")["date"])


class TestCpu:
    INTEL = "Intel(R) Xeon(R) Processor @ 2.90GHz"

    def test_amd(self) -> None:
        one = host.parse_cpu(CPUINFO)
        assert (str(one), one.slug) == ("AMD EPYC (family 26, model 2)", "amd-family-26-model-2")

    def test_intel(self) -> None:
        text = (
            CPUINFO.replace("AuthenticAMD", "GenuineIntel").replace(": 26", ": 6").replace(": 2\n", ": 106\n")
        )
        one = host.parse_cpu(text.replace("AMD EPYC", self.INTEL))
        assert (str(one), one.slug) == (f"{self.INTEL} (family 6, model 106)", "intel-family-6-model-106")

    @pytest.mark.parametrize("text", ["", "model\t\t:\nmodel name\t: \n"])
    def test_unknown(self, text: str) -> None:
        one = host.parse_cpu(text)
        assert str(one) == "unknown (family unknown, model unknown)"
        assert one.slug == "unknown-family-unknown-model-unknown"

    @pytest.mark.usefixtures("zen5")
    def test_of_this_host(self) -> None:
        assert host.cpu().startswith("AMD EPYC (family 26, model 2), ") and host.cpu().endswith(" CPUs")
