# SPDX-License-Identifier: GPL-2.0-only
"""How results are recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from padlab.core import paths
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
