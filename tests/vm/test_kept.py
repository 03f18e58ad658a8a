# SPDX-License-Identifier: GPL-2.0-only
"""Boots that are kept: what their key sees, which entries are believed, and what becomes of a failure."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from padlab.check.base import runner
from padlab.check.base.report import Report
from padlab.check.base.runner import Check
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.vm import kept

LOGS = ("console.log", "guest.log")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "boots")
    monkeypatch.setattr(kept, "VERDICTS", tmp_path / "verdicts")
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
        assert kept.key_of(moved) == kept.key_of(command)

    @pytest.mark.parametrize("what", ["bzImage", "qemu", "argument"])
    def test_sees_what_the_guest_sees(self, command: list[str], tmp_path: Path, what: str) -> None:
        before = kept.key_of(command)
        if what == "argument":
            command[4] = "quiet memblock=debug"
        else:
            other = tmp_path / "other"
            other.write_text("another")
            other.chmod((tmp_path / what).stat().st_mode)
            command = [word.replace(str(tmp_path / what), str(other)) for word in command]
        assert kept.key_of(command) != before


def write_logs(place: Path, console: str) -> None:
    place.mkdir(exist_ok=True)
    (place / "console.log").write_text(console)
    (place / "guest.log").write_text("done 0\n")


def entry(place: Path) -> str:
    """Keep a boot."""
    write_logs(place, "Linux\n")
    keeper = kept.Keeper()
    keeper.booted["key"] = place, 3
    keeper.keep(LOGS)
    return "key"


class TestEntries:
    @pytest.mark.parametrize(
        ("file", "text"),
        [("guest.log", "do"), ("console.log", None), (kept.META, '{"exit": 0}'), (kept.META, '{"dig')],
    )
    def test_one_that_is_not_whole_is_not_believed(
        self, tmp_path: Path, folder: Path, file: str, text: str | None
    ) -> None:
        key = entry(tmp_path / "boot")
        logs = kept.find(key, LOGS)
        assert logs == (folder / key, 3) and (folder / key / "console.log").read_text() == "Linux\n"
        (folder / key / file).unlink()
        if text:
            (folder / key / file).write_text(text)
        assert kept.find(key, LOGS) is None

    def test_nothing_is_kept_where_nothing_can_be_written(self, tmp_path: Path, folder: Path) -> None:
        folder.write_text("a file in its place")
        entry(tmp_path / "boot")
        assert kept.find("key", LOGS) is None

    def test_what_nobody_reads_goes(self, tmp_path: Path, folder: Path) -> None:
        key = entry(tmp_path / "boot")
        kept.prune()
        assert kept.find(key, LOGS)
        long_ago = time.time() - (kept.UNUSED_DAYS + 1) * 24 * 3600
        os.utime(folder / key, (long_ago, long_ago))
        kept.prune()
        assert not list(folder.iterdir())


def boots(place: Path, console: str, wants: str) -> Callable[[], Outcome]:
    """A check of one boot that says ``console``, and has to say ``wants``."""

    def run() -> Outcome:
        keeper = kept.current()
        assert keeper
        if not keeper.again and (logs := kept.find("key", LOGS)):
            keeper.read.append("key")
            said = (logs[0] / "console.log").read_text()
        else:
            write_logs(place, console)
            keeper.booted["key"] = place, 0
            said = console
        return judge([] if wants in said else [f"does not say {wants}"])

    return run


class TestChecks:
    """What the runner does with what is kept."""

    def run(self, place: Path, console: str, wants: str, again: bool = False) -> Report:
        return runner.run_one(Check("c", boots(place, console, wants), 60), again)

    def test_what_passed_is_not_booted_again(self, tmp_path: Path) -> None:
        assert self.run(tmp_path / "a", "good", "good").kept == ""
        assert self.run(tmp_path / "b", "good", "good").kept == "1 boots kept"
        assert not (tmp_path / "b").exists()
        assert self.run(tmp_path / "b", "good", "good", again=True).kept == ""
        assert (tmp_path / "b").exists()

    def test_a_failure_by_what_is_kept_is_tried_with_a_boot(self, tmp_path: Path) -> None:
        self.run(tmp_path / "a", "good", "good")
        report = self.run(tmp_path / "b", "better", "better")
        assert (report.outcome.passed, report.kept) == (1, "") and (tmp_path / "b").exists()
        kept_now = kept.find("key", LOGS)
        assert kept_now and (kept_now[0] / "console.log").read_text() == "better"

    def test_a_failure_leaves_nothing_kept(self, tmp_path: Path) -> None:
        assert self.run(tmp_path / "a", "bad", "good").outcome.failures
        assert kept.find("key", LOGS) is None
        self.run(tmp_path / "a", "good", "good")
        assert self.run(tmp_path / "b", "worse", "better").outcome.failures
        assert kept.find("key", LOGS) is None


class TestVerdicts:
    """Checks that say what they see."""

    def test_is_kept_while_that_is_the_same(self) -> None:
        runs: list[str] = []

        def check(seen: str, outcome: Outcome) -> Report:
            def run() -> Outcome:
                runs.append(seen)
                return outcome

            return runner.run_one(Check("c", run, 60, sees=lambda: seen))

        assert check("a", Outcome(2, skips=("s",))).kept == ""
        report = check("a", Outcome(0, ("bad",)))
        assert (report.kept, report.outcome) == ("verdict kept", Outcome(2, skips=("s",)))
        assert check("b", Outcome(0, ("bad",))).outcome.failures
        assert check("b", Outcome(0, ("bad",))).outcome.failures
        assert runs == ["a", "b", "b"]

    def test_a_check_that_cannot_say_what_it_sees_is_run(self) -> None:
        def refuse() -> str:
            raise LabError("spin", "it is not there", "install it")

        assert runner.run_one(Check("c", lambda: Outcome(1), 60, sees=refuse)).outcome.passed == 1

    def test_one_that_is_cut_is_not_believed(self, folder: Path) -> None:
        kept.keep_verdict("k", Outcome(3))
        assert kept.verdict("k") == Outcome(3)
        (kept.VERDICTS / "k").write_text('{"passed": 3')
        assert kept.verdict("k") is None
