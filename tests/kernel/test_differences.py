# SPDX-License-Identifier: GPL-2.0-only
"""What differs by base is counted right, and is little."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.kernel import differences
from padlab.kernel.differences import CODE, TESTS
from tests.conftest import write_all

FILES = {
    "linux/mm/a.c": "line\n" * 90,
    "linux/mm/a_kunit.c": "line\n" * 10,
    "linux/mm/old.c": "old\n" * 50,
    "patches/series": "x.patch\n",
    "patches/x.patch": "--- a/mm/x.c\n+++ b/mm/x.c\n@@ -1 +1,2 @@\n-x\n+y\n+z\n",
    "bases/7.3/patches/series": "",
    "bases/7.3/owned/series": "a.patch\n",
    "bases/7.3/owned/a.patch": (
        "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,2 @@\n-line\n-line\n+other\n line\n"
        "--- a/mm/a_kunit.c\n+++ b/mm/a_kunit.c\n@@ -1 +1,2 @@\n line\n+more\n"
    ),
    "bases/7.3/owned/without": "mm/old.c\n",
    "bases/7.3/configs/perf.config": "CONFIG_A=y\n",
    "bases/7.3/series/00-cover.msg": "Subject: x\n\ny\n",
    "bases/7.3/checks/faults/x.patch": "x\n",
    "source.toml": (
        '["6.12"]\npackage = "linux-source-6.12"\ntested = "6.12.1-1"\n'
        '["7.3"]\npackage = "linux-source-7.3"\nsuite = "trixie-backports"\ntested = "7.3.1-1"\n'
    ),
}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in {"ROOT": "", "LINUX": "linux", "BASES": "bases"}.items():
        monkeypatch.setattr(paths, name, tmp_path / value)
    monkeypatch.setattr(differences.source, "RECORD", tmp_path / "source.toml")
    write_all(tmp_path, FILES)
    return tmp_path


def test_counts(clone: Path) -> None:
    found = differences.read("7.3")
    assert found.owned_lines == {CODE: 90, TESTS: 10}
    assert [(one.file, one.added, one.removed) for one in found.owned] == [
        ("mm/a.c", 1, 2),
        ("mm/a_kunit.c", 1, 0),
    ]
    assert (found.differing(), found.differing(CODE)) == (3, 2)
    assert found.percent() == 3 and round(found.percent(CODE), 2) == 2.22
    assert found.without == ("mm/old.c",)
    assert found.other == {
        "options": {"perf.config": 1},
        "messages": {"00-cover.msg": 3},
        "tables": {"faults/x.patch": 1},
    }


def test_is_printed(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert differences.main() == 0
    text = capsys.readouterr().out
    assert "base 6.12, the default: linux-source-6.12 of the host's own suites, tested with 6.12.1-1" in text
    assert "base 7.3: linux-source-7.3 of trixie-backports, tested with 7.3.1-1" in text
    assert (
        "100 lines, of which 3 differ (3.0 %, goal below 5 %; without tests 2.2 %): 2 in, 2 out, in 2 files"
        in text
    )
    assert "left out     mm/old.c" in text and "options      perf.config (1 lines)" in text
    assert ["7.3", "mm/a.c", "1", "2"] in [line.split() for line in text.splitlines()]


def test_as_json(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    differences.main(json=True)
    default, other = json.loads(capsys.readouterr().out)
    assert (default["name"], default["differing"], other["name"]) == ("6.12", 0, "7.3")
    assert (other["differing"], other["percent"], other["percent_of_code"]) == (3, 3.0, 2.22)
    assert other["owned"][0] == {"file": "mm/a.c", "added": 1, "removed": 2}


def test_too_much_is_an_error(clone: Path) -> None:
    (clone / "linux/mm/a.c").write_text("line\n" * 40)
    assert differences.main() == 1


@pytest.mark.parametrize("name", paths.bases())
def test_little_differs(name: str) -> None:
    assert differences.read(name).percent() < differences.GOAL_PERCENT
