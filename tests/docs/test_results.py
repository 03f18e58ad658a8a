# SPDX-License-Identifier: GPL-2.0-only
"""results/ keeps what something reads."""

import json
import re
from pathlib import Path

import pytest

from padlab.core import paths

RECORDS = sorted((paths.ROOT / "results").rglob("*.json"))


def keys(record: object) -> set[str]:
    """Of a record and of all in it, but for names of machines, parts and phases."""
    if isinstance(record, dict):
        own = {key for key in record if re.fullmatch("[a-z_]+", key)}
        return own.union(*map(keys, record.values()))
    return set().union(*map(keys, record)) if isinstance(record, list) else set()


def unread(record: object, code: str) -> list[str]:
    """Keys of a record that no code names."""
    return sorted(key for key in keys(record) if not re.search(rf"\b{re.escape(key)}\b", code))


@pytest.fixture(scope="module")
def code() -> str:
    return "\n".join(path.read_text() for path in (paths.ROOT / "padlab").rglob("*.py"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: str(path.relative_to(paths.ROOT / "results")))
def test_all_that_is_recorded_has_a_reader(path: Path, code: str) -> None:
    assert not unread(json.loads(path.read_text()), code)


def test_a_key_without_a_reader_is_found() -> None:
    record = {"native": [{"us": 1, "us_first": 2}], "native_first": 2, "a-name": {"us": 1}}
    assert unread(record, 'record["native"][0]["us"]') == ["native_first", "us_first"]
