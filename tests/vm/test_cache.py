# SPDX-License-Identifier: GPL-2.0-only
"""Boots that are cached: what their key sees, which entries are believed, and what becomes of a failure."""

import os
import time
from pathlib import Path

import pytest

from padlab.core.outcome import Outcome
from padlab.vm import cache
from tests.conftest import write_all

LOGS = ("console.log", "guest.log")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "boots")
    monkeypatch.setattr(cache, "VERDICTS", tmp_path / "verdicts")
    return tmp_path / "boots"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    qemu, image = tmp_path / "qemu", tmp_path / "bzImage"
    qemu.write_text("qemu 1")
    qemu.chmod(0o755)
    image.write_text("kernel")
    return [str(qemu), "-kernel", str(image), "-append", "quiet", "-drive", f"file={image},format=raw"]


class TestKey:
    def test_other_places_of_the_same_files_are_the_same(self, command: list[str], tmp_path: Path) -> None:
        other = tmp_path / "clone/bzImage"
        other.parent.mkdir()
        other.write_text("kernel")
        moved = [word.replace(str(tmp_path / "bzImage"), str(other)) for word in command]
        assert cache.key_of(moved) == cache.key_of(command)

    @pytest.mark.parametrize("what", ["bzImage", "qemu", "argument"])
    def test_sees_what_the_guest_sees(self, command: list[str], tmp_path: Path, what: str) -> None:
        before = cache.key_of(command)
        if what == "argument":
            command[4] = "quiet memblock=debug"
        else:
            other = tmp_path / "other"
            other.write_text("another")
            other.chmod((tmp_path / what).stat().st_mode)
            command = [word.replace(str(tmp_path / what), str(other)) for word in command]
        assert cache.key_of(command) != before


def entry(place: Path) -> str:
    """Keep a boot."""
    write_all(place, {"console.log": "Linux\n", "guest.log": "done 0\n"})
    cached = cache.Cache()
    cached.booted["key"] = place, 3
    cached.keep(LOGS)
    return "key"


class TestEntries:
    @pytest.mark.parametrize(
        ("file", "text"),
        [("guest.log", "do"), ("console.log", None), (cache.META, '{"exit": 0}'), (cache.META, '{"dig')],
    )
    def test_one_that_is_not_whole_is_not_believed(
        self, tmp_path: Path, folder: Path, file: str, text: str | None
    ) -> None:
        key = entry(tmp_path / "boot")
        logs = cache.Cache().find(key, LOGS)
        assert logs == (folder / key, 3) and (folder / key / "console.log").read_text() == "Linux\n"
        (folder / key / file).unlink()
        if text:
            (folder / key / file).write_text(text)
        assert cache.Cache().find(key, LOGS) is None

    def test_nothing_is_kept_where_nothing_can_be_written(self, tmp_path: Path, folder: Path) -> None:
        folder.write_text("a file in its place")
        entry(tmp_path / "boot")
        assert cache.Cache().find("key", LOGS) is None

    def test_what_nobody_reads_goes(self, tmp_path: Path, folder: Path) -> None:
        key = entry(tmp_path / "boot")
        cache.prune()
        assert cache.Cache().find(key, LOGS)
        long_ago = time.time() - (cache.UNUSED_DAYS + 1) * 24 * 3600
        os.utime(folder / key, (long_ago, long_ago))
        cache.prune()
        assert not list(folder.iterdir())


def test_a_verdict_that_is_cut_is_not_believed(folder: Path) -> None:
    cache.keep_verdict("k", Outcome(3))
    assert cache.verdict("k") == Outcome(3)
    (cache.VERDICTS / "k").write_text('{"passed": 3')
    assert cache.verdict("k") is None
