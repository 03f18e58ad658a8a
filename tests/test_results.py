# SPDX-License-Identifier: GPL-2.0-only
"""What is recorded in results/: little, a row a line, and each file names what made it, of this history."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.measure import provenance

FILES = sorted(path for path in paths.RECORDED.rglob("*") if path.is_file())
RECORDS = [path for path in FILES if path.suffix == ".json"]
MOST_LINES = 10_000
NAMED = ("command", "source", "commit", "host", "date")


def name_of(path: Path) -> str:
    return paths.shown(path)


def git(*args: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-c", f"safe.directory={paths.ROOT}", *args]
    return subprocess.run(command, cwd=paths.ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def history() -> None:
    if git("rev-parse", "--is-shallow-repository").stdout != "false\n":
        pytest.skip("this clone has no history, so no commit can be looked up")


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_a_record_names_what_made_it(path: Path) -> None:
    text = path.read_text()
    data = json.loads(text)
    assert [key for key in NAMED if not data.get(key)] == []
    assert text == provenance.to_text(data) + "\n", "a row is not a line: write it with provenance.record()"


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_a_record_is_of_a_commit_that_there_is(path: Path) -> None:
    commit = json.loads(path.read_text())["commit"]
    assert git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0, "it is not in this repository"


def test_there_is_little() -> None:
    assert sum(path.read_bytes().count(b"\n") for path in FILES) <= MOST_LINES


def test_nothing_is_there_that_nobody_quotes() -> None:
    known = {*provenance.OF_CPU, "accept.json", "growth.json", "parts.json"}
    for path in FILES:
        exact = re.fullmatch(r"compare-(?:epyc-7551-kvm-small|three-nodes)-exact\.json", path.name)
        assert path.name in known or exact, path


def keys(record: object) -> set[str]:
    """Of a record and of all in it, but for names of machines, parts and phases."""
    if isinstance(record, dict):
        own = {key for key in record if re.fullmatch("[a-z_]+", key)}
        return own.union(*map(keys, record.values()))
    return set().union(*map(keys, record)) if isinstance(record, list) else set()


def unread(record: object, code: str) -> list[str]:
    """Keys of a record that no code names."""
    return sorted(key for key in keys(record) if not re.search(rf"\b{re.escape(key)}\b", code))


def test_all_that_is_recorded_has_a_reader() -> None:
    code = "\n".join(path.read_text() for path in (paths.ROOT / "padlab").rglob("*.py"))
    for path in RECORDS:
        assert not unread(json.loads(path.read_text()), code), name_of(path)
    record = {"native": [{"us": 1, "us_first": 2}], "native_first": 2, "a-name": {"us": 1}}
    assert unread(record, code) == ["native_first", "us_first"]
