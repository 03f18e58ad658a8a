# SPDX-License-Identifier: GPL-2.0-only
"""Tables that cannot be made; and how much of the source differs by base.

What tables say, tests/test_docs.py compares with the documents.
"""

import json
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.docs import source, tables
from padlab.kernel import owned
from tests.conftest import write

HOST = "AMD EPYC (family 25, model 1), 2 CPUs"


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

    @pytest.mark.parametrize(
        ("host", "message"),
        [
            (HOST, "is not recorded .KeyError: 'native'.; record it again"),
            ("a machine", "'a machine' does not say which CPU"),
        ],
    )
    def test_a_record(self, host: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paths, "RECORDED", tmp_path)
        write(tmp_path / "cpus/x/hugepages.json", json.dumps({"command": "./lab x", "host": host}))
        with pytest.raises(LabError, match=message):
            tables.make(["zeroing-1-gib", "6.12"])


@pytest.mark.parametrize("base", paths.bases()[1:])
def test_little_of_the_owned_files_differs(base: str) -> None:
    """In per cent: a changed line counts once."""
    folder = paths.BASES / base / "owned"
    changed = sum(max(edit.added, edit.removed) for edit in source.read_edits(folder))
    shared = owned.owned_files(paths.Base.named(paths.DEFAULT_BASE))
    files = [path for name, path in shared.items() if name not in owned.left_out(folder)]
    assert 0 < 100 * changed / sum(len(path.read_bytes().splitlines()) for path in files) < 5
