# SPDX-License-Identifier: GPL-2.0-only
"""results/ keeps what something reads."""

import json
import re
from pathlib import Path

import pytest

from padlab.core import paths

RECORDS = sorted((paths.ROOT / "results").rglob("*.json"))


def unread(record: dict[str, object], code: str) -> list[str]:
    """Keys of a record that no code names."""
    return [key for key in record if not re.search(rf"\b{re.escape(key)}\b", code)]


@pytest.fixture(scope="module")
def code() -> str:
    return "\n".join(path.read_text() for path in (paths.ROOT / "padlab").rglob("*.py"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: str(path.relative_to(paths.ROOT / "results")))
def test_all_that_is_recorded_has_a_reader(path: Path, code: str) -> None:
    assert not unread(json.loads(path.read_text()), code)


def test_a_key_without_a_reader_is_found() -> None:
    assert unread({"native": 1, "native_first": 2}, 'record["native"]') == ["native_first"]
