# SPDX-License-Identifier: GPL-2.0-only
"""Boots that are cached: what their key sees, what is kept, and what of it goes again."""

import os
import time
from pathlib import Path

import pytest

from padlab.core.outcome import Outcome
from padlab.vm import cache
from tests.conftest import write_all


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "boots")
    monkeypatch.setattr(cache, "VERDICTS", tmp_path / "verdicts")
    return tmp_path / "boots"


@pytest.mark.parametrize("what", ["", "bzImage", "qemu", "argument"])
def test_a_key_sees_what_the_guest_sees(tmp_path: Path, what: str) -> None:
    """Not where a file lies, but what is in it."""

    def command(place: Path, changed: str) -> list[str]:
        for name in ("qemu", "bzImage"):
            write_all(place, {name: "another" if name == changed else name})
        (place / "qemu").chmod(0o755)
        quiet = "loud" if changed == "argument" else "quiet"
        disk = f"file={place}/bzImage,format=raw"
        return [f"{place}/qemu", "-kernel", f"{place}/bzImage", "-append", quiet, "-drive", disk]

    keys = [cache.key_of(command(tmp_path / name, changed)) for name, changed in (("a", ""), ("b", what))]
    assert (keys[0] == keys[1]) is (what == "")


def entry(place: Path) -> None:
    write_all(place, {"console.log": "Linux\n", "guest.log": "done 0\n"})
    cached = cache.Cache()
    cached.booted["key"] = place
    cached.keep()


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path, folder: Path) -> None:
    folder.write_text("a file in its place")
    entry(tmp_path / "boot")
    assert cache.Cache().find("key") is None


def test_what_nobody_reads_goes(tmp_path: Path, folder: Path) -> None:
    entry(tmp_path / "boot")
    long_ago = time.time() - (cache.UNUSED_DAYS + 1) * 24 * 3600
    for read in (True, False):
        os.utime(folder / "key", (long_ago, long_ago))
        assert not read or cache.Cache().find("key")
        cache.prune()
        assert (folder / "key").exists() is read


def test_a_verdict_that_is_cut_is_not_believed(folder: Path) -> None:
    cache.keep_verdict("k", Outcome(3))
    assert cache.verdict("k") == Outcome(3)
    (cache.VERDICTS / "k").write_text('{"passed": 3')
    assert cache.verdict("k") is None
