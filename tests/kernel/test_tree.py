# SPDX-License-Identifier: GPL-2.0-only
"""Trees: kept up to date file by file, never losing an edit, and written back through quilt.

On a made-up kernel of a few files; quilt and patch are the real ones.
"""

import shutil
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import coreedits, overlay, refresh, state, tree
from padlab.kernel.content import read
from tests.conftest import edit, set_base, write, write_all

VERSION = "6.12.1-1"
LINES = [f"line {number}\n" for number in range(1, 31)]

EDIT = """\
What this edit is for.
--- a/mm/page.c
+++ b/mm/page.c
@@ -9,3 +9,4 @@
 line 9
-line 10
+line ten
+line ten and a half
 line 11
"""

SECOND_EDIT = """\
--- a/kernel/Makefile
+++ b/kernel/Makefile
@@ -1,1 +1,2 @@
 obj-y = fork.o
+obj-y += padata_mt.o
"""

pytestmark = pytest.mark.usefixtures("installed")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default_base: None) -> Path:
    """A clone with two core edits, one owned file, and an unpacked stock tree."""
    set_base(monkeypatch, patches=tmp_path / "patches", build=tmp_path)
    monkeypatch.setattr(paths, "LINUX", tmp_path / "linux")
    files = {
        "linux/kernel/padata_mt.c": "engine\n",
        "linux/lib/padata/new.c": "new\n",
        "patches/series": "page.patch\nmakefile.patch # last\n",
        "patches/page.patch": EDIT,
        "patches/makefile.patch": SECOND_EDIT,
        "trees/stock/mm/page.c": "".join(LINES),
        "trees/stock/mm/other.c": "other\n",
        "trees/stock/kernel/Makefile": "obj-y = fork.o\n",
        "trees/stock/obj-perf/fork.o": "object\n",
    }
    write_all(tmp_path, files)
    state.write_state(tmp_path / "trees/stock", state.State(VERSION))
    return tmp_path


@pytest.fixture
def patched(lab: Path) -> Path:
    return tree.ensure_tree("patched")


class TestPatchedTree:
    def test_has_owned_files_and_edits_and_no_builds(self, lab: Path, patched: Path) -> None:
        assert (patched / "kernel/padata_mt.c").read_text() == "engine\n"
        assert "line ten and a half\n" in (patched / "mm/page.c").read_text()
        assert "padata_mt.o" in (patched / "kernel/Makefile").read_text()
        assert not (patched / "obj-perf").exists()
        assert "line 10\n" in (lab / "trees/stock/mm/page.c").read_text()

    def test_changed_patch_touches_its_file_alone(self, lab: Path, patched: Path) -> None:
        others = patched / "kernel/Makefile", patched / "kernel/padata_mt.c"
        before = [path.stat().st_mtime_ns for path in others]
        key = tree.content_key("patched")
        edit(lab / "patches/page.patch", "and a half", "and more")
        tree.ensure_tree("patched")
        assert "line ten and more\n" in (patched / "mm/page.c").read_text()
        assert [path.stat().st_mtime_ns for path in others] == before
        assert tree.content_key("patched") != key

    def test_incomplete_tree_is_made_again(self, patched: Path) -> None:
        (patched / state.STATE).unlink()
        (patched / "mm/other.c").unlink()
        tree.ensure_tree("patched")
        assert (patched / "mm/other.c").exists()

    def test_interrupted_sync_is_finished(
        self, lab: Path, patched: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        edit(lab / "patches/page.patch", "and a half", "and more")
        edit(lab / "linux/kernel/padata_mt.c", "engine", "new engine")
        install, done = overlay.install, []

        def once(content: Path | None, place: Path) -> None:
            if done:
                raise KeyboardInterrupt
            done.append(place)
            install(content, place)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(overlay, "install", once)
            tree.ensure_tree("patched")
        tree.ensure_tree("patched")
        assert (patched / "kernel/padata_mt.c").read_text() == "new engine\n"
        assert "and more" in (patched / "mm/page.c").read_text()

    def test_file_that_is_both_owned_and_edited_is_refused(self, lab: Path) -> None:
        write(lab / "linux/mm/page.c", "mine\n")
        with pytest.raises(LabError, match="both have mm/page.c"):
            tree.ensure_tree("patched")


class TestEditThatDoesNotApply:
    def test_names_patch_hunk_and_file_and_leaves_the_tree(self, lab: Path, patched: Path) -> None:
        before = (patched / "mm/page.c").read_text()
        edit(lab / "patches/page.patch", " line 9\n-line 10\n", " line 9\n-line TEN\n")
        with pytest.raises(LabError) as error:
            tree.ensure_tree("patched")
        assert error.value.why == "page.patch: hunk #1 does not apply to mm/page.c (line 9)"
        assert "Hunk #1 FAILED at 9." in error.value.detail
        assert error.value.log is not None and error.value.log.exists()
        assert (patched / "mm/page.c").read_text() == before

    def test_fuzz_is_a_failure_and_an_offset_is_not(self, lab: Path) -> None:
        edit(lab / "trees/stock/mm/page.c", "line 1\n", "line 0\nline 0.5\nline 1\n")
        assert "line ten" in (tree.ensure_tree("patched") / "mm/page.c").read_text()
        shutil.rmtree(lab / "trees/patched")
        edit(lab / "trees/stock/mm/page.c", "line 9\n", "line nine\n")
        with pytest.raises(LabError, match="page.patch: hunk #1"):
            tree.ensure_tree("patched")

    def test_file_that_is_gone(self, lab: Path) -> None:
        (lab / "trees/stock/mm/page.c").unlink()
        with pytest.raises(LabError, match="page.patch does not apply"):
            tree.ensure_tree("patched")

    def test_in_a_later_file(self) -> None:
        output = (
            "Applying patch patches/a.patch\npatching file x.c\n\n"
            "Applying patch patches/b.patch\npatching file y.c\npatching file z.c\n"
            "Hunk #2 FAILED at 40.\nHunk #3 FAILED at 50.\n2 out of 3 hunks FAILED -- rejects in file z.c\n"
            "patching file w.c\nPatch patches/b.patch does not apply (enforce with -f)\n"
        )
        assert coreedits.failure(output) == "b.patch: hunk #2 does not apply to z.c (line 40)"


class TestEdits:
    def test_stay_while_the_repository_is_the_same(self, patched: Path) -> None:
        key = tree.content_key("patched")
        edit(patched / "mm/page.c", "line 20\n", "line twenty\n")
        tree.ensure_tree("patched")
        assert "line twenty" in (patched / "mm/page.c").read_text()
        assert tree.content_key("patched") != key

    @pytest.mark.parametrize("name", ["mm/page.c", "kernel/padata_mt.c"])
    def test_stop_a_change_that_would_lose_them(self, lab: Path, patched: Path, name: str) -> None:
        (patched / name).write_text("edited\n")
        edit(lab / "patches/page.patch", "and a half", "and more")
        edit(lab / "linux/kernel/padata_mt.c", "engine", "new engine")
        with pytest.raises(LabError, match="lab refresh to keep them"):
            tree.ensure_tree("patched")
        assert (patched / name).read_text() == "edited\n"

    def test_are_dropped_on_request(self, patched: Path) -> None:
        good = (patched / "mm/page.c").read_text()
        (patched / "mm/page.c").write_text("edited\n")
        (patched / "kernel/padata_mt.c").unlink()
        tree.ensure_tree("patched", discard=True)
        assert (patched / "mm/page.c").read_text() == good
        assert (patched / "kernel/padata_mt.c").exists()


class TestRefresh:
    def test_round_trip(self, lab: Path, patched: Path) -> None:
        edit(patched / "mm/page.c", "line 25\n", "line twenty-five\n")
        edit(patched / "kernel/padata_mt.c", "engine", "better engine")
        wanted = (patched / "mm/page.c").read_text()
        assert refresh.refresh() == ["linux/kernel/padata_mt.c", paths.shown(lab / "patches/page.patch")]
        assert (lab / "linux/kernel/padata_mt.c").read_text() == "better engine\n"
        assert (lab / "patches/makefile.patch").read_text() == SECOND_EDIT
        text = (lab / "patches/page.patch").read_text()
        assert text.startswith("What this edit is for.\n--- a/mm/page.c\n+++ b/mm/page.c\n@@ -9,3 +9,4 @@")
        assert [len(hunk) for hunk in coreedits.parse(text)[0].hunks] == [6, 5]  # one line of context

        shutil.rmtree(patched)
        assert (tree.ensure_tree("patched") / "mm/page.c").read_text() == wanted
        assert refresh.refresh() == []

    def test_deleted_owned_file(self, lab: Path, patched: Path) -> None:
        (patched / "kernel/padata_mt.c").unlink()
        assert refresh.refresh() == ["linux/kernel/padata_mt.c"]
        assert not (lab / "linux/kernel/padata_mt.c").exists()

    def test_new_patch_made_with_quilt(self, lab: Path, patched: Path) -> None:
        for args in (["new", "third.patch"], ["add", "mm/other.c"]):
            coreedits.quilt(args, patched, lab / "patches", what="test")
        (patched / "mm/other.c").write_text("another\n")
        assert refresh.refresh() == [paths.shown(lab / "patches/third.patch")]
        assert coreedits.read_series(lab / "patches")[-1] == "third.patch"
        shutil.rmtree(patched)
        assert (tree.ensure_tree("patched") / "mm/other.c").read_text() == "another\n"

    def test_refuses_when_both_sides_changed(self, lab: Path, patched: Path) -> None:
        (patched / "kernel/padata_mt.c").write_text("edited\n")
        (lab / "linux/kernel/padata_mt.c").write_text("changed\n")
        with pytest.raises(LabError, match="linux/kernel/padata_mt.c changed since"):
            refresh.refresh()
        assert (lab / "linux/kernel/padata_mt.c").read_text() == "changed\n"

    def test_strays_are_named(self, patched: Path) -> None:
        write_all(patched, {"mm/new.c": "new\n", "mm/other.c": "edited\n", "obj-perf/x.o": "object\n"})
        assert refresh.strays() == ["mm/new.c", "mm/other.c"]

    def test_without_a_tree(self, lab: Path) -> None:
        with pytest.raises(LabError, match="lab tree"):
            refresh.refresh()


def test_a_tree_with_extra_patches_leaves_what_it_links_alone(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = lab / "fault.patch"
    fault.write_text(
        "--- a/kernel/padata_mt.c\n+++ b/kernel/padata_mt.c\n@@ -1 +1 @@\n-engine\n+broken engine\n"
        "--- a/mm/other.c\n+++ b/mm/other.c\n@@ -1 +1 @@\n-other\n+broken\n"
        "--- a/mm/page.c\n+++ b/mm/page.c\n@@ -10 +10 @@\n-line ten\n+line broken\n"
    )
    monkeypatch.setitem(tree.VARIANTS, "faulty", tree.Variant(extra=(fault,), linked=True))
    faulty = tree.ensure_tree("faulty")
    assert (faulty / "kernel/padata_mt.c").read_text() == "broken engine\n"
    assert (faulty / "mm/other.c").read_text() == "broken\n"
    assert "line broken\nline ten and a half\n" in (faulty / "mm/page.c").read_text()
    assert (lab / "trees/stock/mm/other.c").read_text() == "other\n"
    assert (lab / "trees/stock/mm/page.c").read_text() == "".join(LINES)
    assert (lab / "linux/kernel/padata_mt.c").read_text() == "engine\n"
    edit(fault, "+broken engine", "+other engine")
    assert (tree.ensure_tree("faulty") / "kernel/padata_mt.c").read_text() == "other engine\n"


def test_parts_of_the_series_come_and_go(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adds = {
        "kernel/padata_mt.c": ("kernel/padata_mt.c", "engine"),
        "lib/padata/new.c": ("lib/padata/new.c", "new"),
        "page.patch": ("mm/page.c", "line ten"),
        "makefile.patch": ("kernel/Makefile", "padata_mt.o"),
    }
    for names in ({"makefile.patch"}, set(), set(adds) - {"makefile.patch"}, {"makefile.patch"}):
        monkeypatch.setitem(tree.VARIANTS, "part", tree.Variant(linked=True, only=frozenset(names)))
        part = tree.ensure_tree("part")
        assert {name for name, (file, added) in adds.items() if added in read(part / file)} == names
        assert (part / "lib").exists() is ("lib/padata/new.c" in names)


def test_files_of_a_patch() -> None:
    headers_within = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- minus\n+++ plus\n same\n"
    new = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
    old = "--- a/old\t2020\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert [part.path for part in coreedits.parse(headers_within + new + old)] == ["f", "new", "old"]
