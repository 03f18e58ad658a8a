# SPDX-License-Identifier: GPL-2.0-only
"""A second base: core edits, owned files, configurations and messages that differ, on a made-up kernel."""

import shutil
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import coreedits, kconfig, mailseries, refresh, source, state, steps, tree
from tests.conftest import edit, set_base, write, write_all

pytestmark = pytest.mark.usefixtures("installed")

VERSION = "7.3.1-1"
ENGINE = "".join(f"line {number}\n" for number in range(1, 21))
FILES = {
    "linux/kernel/engine.c": ENGINE,
    "linux/mm/both.c": "both\n",
    "linux/mm/old.c": "6.12 only\n",
    "patches/series": "never.patch\n",  # of the other base
    "bases/7.3/patches/series": "first.patch\nsecond.patch\n",
    "bases/7.3/patches/first.patch": "--- a/Makefile\n+++ b/Makefile\n@@ -1 +1,2 @@\n a\n+b\n",
    "bases/7.3/patches/second.patch": "--- a/mm/x.c\n+++ b/mm/x.c\n@@ -1 +1 @@\n-x\n+y\n",
    "bases/7.3/owned/series": "flags.patch\n",
    "bases/7.3/owned/flags.patch": (
        "Flags have a type.\n--- a/kernel/engine.c\n+++ b/kernel/engine.c\n@@ -9,3 +9,3 @@\n line 9\n"
        "-line 10\n+line ten\n line 11\n--- /dev/null\n+++ b/mm/new.c\n@@ -0,0 +1 @@\n+7.3 only\n"
    ),
    "bases/7.3/owned/without": "# replaced by mainline's\nmm/old.c\n",
    "build/7.3/trees/stock/Makefile": "a\n",
    "build/7.3/trees/stock/mm/x.c": "x\n",
}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone that works on base 7.3."""
    own, build = tmp_path / "bases/7.3", tmp_path / "build/7.3"
    set_base(monkeypatch, name="7.3", own=own, patches=own / "patches", build=build)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "LINUX", tmp_path / "linux")
    monkeypatch.setattr(paths, "CONFIGS", tmp_path / "configs")
    package = source.Package("linux-source-7.3", VERSION, "trixie-backports")
    monkeypatch.setattr(source, "package", lambda: package)
    write_all(tmp_path, FILES)
    state.write_state(paths.base().trees / "stock", state.State(VERSION))
    return tmp_path


@pytest.fixture
def patched(clone: Path) -> Path:
    return tree.ensure_tree("patched")


class TestTree:
    def test_has_what_the_base_has(self, clone: Path, patched: Path) -> None:
        assert patched == clone / "build/7.3/trees/patched"
        assert (patched / "kernel/engine.c").read_text() == ENGINE.replace("line 10\n", "line ten\n")
        assert (patched / "mm/both.c").read_text() == "both\n"
        assert (patched / "mm/new.c").read_text() == "7.3 only\n"
        assert not (patched / "mm/old.c").exists()
        assert (patched / "Makefile").read_text() == "a\nb\n"
        assert (clone / "linux/kernel/engine.c").read_text() == ENGINE

    def test_follows_a_change_of_what_is_shared_and_of_the_difference(
        self, clone: Path, patched: Path
    ) -> None:
        edit(clone / "linux/kernel/engine.c", "line 20\n", "line twenty\n")
        tree.ensure_tree("patched")
        text = (patched / "kernel/engine.c").read_text()
        assert "line ten\n" in text and "line twenty\n" in text
        edit(clone / "bases/7.3/owned/flags.patch", "+line ten", "+line X")
        tree.ensure_tree("patched")
        assert "line X\n" in (patched / "kernel/engine.c").read_text()

    def test_a_difference_that_does_not_apply(self, clone: Path, patched: Path) -> None:
        before = (patched / "kernel/engine.c").read_text()
        edit(clone / "linux/kernel/engine.c", "line 10\n", "line tenth\n")
        for _ in range(2):  # nothing half-done passes for done
            with pytest.raises(LabError) as error:
                tree.ensure_tree("patched")
            assert error.value.why == "flags.patch: hunk #1 does not apply to kernel/engine.c (line 9)"
            assert error.value.todo == "edit that patch of bases/7.3/owned, or what it edits"
        assert (patched / "kernel/engine.c").read_text() == before

    @pytest.mark.parametrize(
        ("name", "text", "why"),
        [
            ("without", "mm/no.c\n", "bases/7.3/owned/without: linux/ has no mm/no.c"),
            (
                *("series", "flags.patch\nflags.patch\n"),
                "more than one patch edits kernel/engine.c, mm/new.c; put all",
            ),
        ],
    )
    def test_a_wrong_list(self, clone: Path, name: str, text: str, why: str) -> None:
        write(clone / "bases/7.3/owned" / name, text)
        with pytest.raises(LabError, match=why):
            tree.ensure_tree("patched")


class TestRefresh:
    def test_to_where_each_file_is_kept(self, clone: Path, patched: Path) -> None:
        edit(patched / "kernel/engine.c", "line ten\n", "line 10.0\n")
        edit(patched / "mm/both.c", "both", "both bases")
        edit(patched / "mm/new.c", "7.3 only", "7.3 and later")
        edit(patched / "Makefile", "b\n", "c\n")
        wanted = {name: (patched / name).read_text() for name in ("kernel/engine.c", "mm/new.c", "Makefile")}
        written = ["linux/mm/both.c", "bases/7.3/owned/flags.patch", "bases/7.3/patches/first.patch"]
        assert refresh.refresh() == written
        assert (clone / "linux/kernel/engine.c").read_text() == ENGINE
        text = (clone / "bases/7.3/owned/flags.patch").read_text()
        header = "Flags have a type.\n--- a/kernel/engine.c\n+++ b/kernel/engine.c\n@@ -9,3 +9,3 @@"
        assert text.startswith(header) and "--- /dev/null\n+++ b/mm/new.c\n" in text
        shutil.rmtree(patched)
        tree.ensure_tree("patched")
        assert {name: (patched / name).read_text() for name in wanted} == wanted
        assert refresh.refresh() == []

    def test_to_a_new_patch(self, clone: Path, patched: Path) -> None:
        edit(patched / "mm/both.c", "both", "other")
        assert refresh.refresh("other.patch") == ["bases/7.3/owned/other.patch"]
        assert (clone / "linux/mm/both.c").read_text() == "both\n"
        assert coreedits.read_series(clone / "bases/7.3/owned") == ["flags.patch", "other.patch"]
        shutil.rmtree(patched)
        assert (tree.ensure_tree("patched") / "mm/both.c").read_text() == "other\n"

    def test_when_both_sides_changed(self, clone: Path, patched: Path) -> None:
        edit(patched / "kernel/engine.c", "line ten\n", "line 10.0\n")
        edit(clone / "bases/7.3/owned/flags.patch", "+line ten", "+line X")
        why = "linux/kernel/engine.c changed since .* ./lab tree --discard --base 7.3"
        with pytest.raises(LabError, match=why):
            refresh.refresh()
        with pytest.raises(LabError, match="run ./lab refresh --base 7.3 to keep them or ./lab tree"):
            tree.ensure_tree("patched")

    def test_no_own_patch_on_the_default_base(self, patched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        edit(patched / "mm/both.c", "both", "other")
        set_base(monkeypatch, own=None)
        with pytest.raises(LabError, match="leave out --own"):
            refresh.refresh("x.patch")


def test_configurations_that_differ(clone: Path) -> None:
    for name in ("perf", "debug", "patched"):
        write(clone / f"configs/{name}.config", "CONFIG_A=y\n")
    own = clone / "bases/7.3/configs"
    write(own / "perf.config", "# CONFIG_A is not set\n")
    write(own / "patched.config", "CONFIG_B=y\n")
    found = [str(path.relative_to(clone)) for path in kconfig.DEBUG.files(series=True)]
    assert found == [
        *("configs/x86.config", "configs/perf.config", "bases/7.3/configs/perf.config"),
        *("configs/debug.config", "configs/patched.config", "bases/7.3/configs/patched.config"),
    ]
    assert kconfig.PERF.files(series=False)[-1] == own / "perf.config"


def test_options_of_kunit_that_differ(clone: Path) -> None:
    write(clone / "configs/kunit.config", "CONFIG_A=y\nCONFIG_B=y\n# why\n")
    assert kconfig.kunit_config("kunit.config") == clone / "configs/kunit.config"
    write(clone / "bases/7.3/configs/kunit.config", "# CONFIG_A is not set\nCONFIG_C=3\n")
    merged = kconfig.kunit_config("kunit.config")
    assert merged == clone / "build/7.3/configs/kunit.config"
    text = merged.read_text()
    assert kconfig.parse_config(text) == {"CONFIG_A": "n", "CONFIG_B": "y", "CONFIG_C": "3"}


def test_the_series_has_the_messages_of_the_base(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is against the source that was given."""
    monkeypatch.setattr(steps, "STEPS", clone / "series")
    monkeypatch.setattr(mailseries, "run_checkpatch", lambda *args: None)
    messages = {
        "series/00-cover.msg": "Subject: the cover\n\nFor 6.12.\n",
        "series/01-engine.msg": "Subject: engine\nOwns: kernel/engine.c\n\nWhy.\n",
        "series/02-old.msg": "Subject: old\nOwns: mm/old.c\n\nWhy.\n",
        "bases/7.3/series/00-cover.msg": "Subject: the cover\n\nFor 7.3.\n",
        "bases/7.3/series/02-old.msg": "# Mainline has it.\n",
        "bases/7.3/series/03-new.msg": "Subject: new\nOwns: mm/\nHook: first.patch\nHook: second.patch\n\nWhy.\n",
    }
    write_all(clone, messages)
    state.write_state(paths.base().trees / "stock", state.State("7.3.4 of commit 012345678901"))
    cover, engine, new = mailseries.export(clone / "out")
    assert (engine.name, new.name) == ("0001-engine.patch", "0002-new.patch")
    text = cover.read_text()
    assert "For 7.3." in text and "This series is against Linux 7.3.4 of commit 012345678901." in text
    assert "+line ten\n" in engine.read_text() and "line 10\n" not in engine.read_text()
    mailseries.check(clone / "out")
