# SPDX-License-Identifier: GPL-2.0-only
"""How results are recorded."""

import re
from pathlib import Path

import pytest

from padlab.core import host, paths
from padlab.core.errors import LabError
from padlab.measure import provenance
from tests.conftest import set_base

CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
stepping\t: 1
"""


def test_the_table_of_the_documents_has_the_same_names() -> None:
    names = re.findall(
        r"^\| `results/(cpus/)?(\S+)` \|", (paths.ROOT / "docs/measuring.md").read_text(), re.MULTILINE
    )
    assert len(names) >= 7
    for of_cpu, name in names:
        assert bool(of_cpu) == (name.removeprefix("*/") in provenance.OF_CPU), name


def test_nothing_of_another_cpu_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_base(monkeypatch, results=tmp_path)
    monkeypatch.setattr(host, "CPUINFO", tmp_path / "cpuinfo")
    for family, cpus in ((26, 2), (26, 16), (25, 16)):
        host.CPUINFO.write_text(CPUINFO.replace(": 26", f": {family}"))
        monkeypatch.setattr(host.os, "cpu_count", lambda cpus=cpus: cpus)
        provenance.record("bench.json", {})
        assert (tmp_path / f"cpus/amd-family-{family}-model-2-{cpus}cpus/bench.json").read_text() == "{}\n"


def test_records_are_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.json"
    provenance.write(target, "one")
    assert target.read_text() == "one"
    assert [path.name for path in target.parent.iterdir()] == ["a.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="recording b.json"):
        provenance.write(tmp_path / "file" / "b.json", "")


INTEL = "Intel(R) Xeon(R) Processor @ 2.90GHz"
OF_INTEL = CPUINFO.replace("AuthenticAMD", "GenuineIntel").replace(": 26", ": 6").replace("AMD EPYC", INTEL)


@pytest.mark.parametrize(
    ("text", "name", "slug"),
    [
        (CPUINFO, "AMD EPYC (family 26, model 2)", "amd-family-26-model-2"),
        (OF_INTEL, f"{INTEL} (family 6, model 2)", "intel-family-6-model-2"),
        ("", "unknown (family unknown, model unknown)", "unknown-family-unknown-model-unknown"),
        ("model\t\t:\nmodel name\t: \n", "unknown (family unknown, model unknown)", None),
    ],
)
def test_names_of_cpus(text: str, name: str, slug: str | None) -> None:
    cpu = host.parse_cpu(text)
    assert str(cpu) == name and slug in (None, cpu.slug)
