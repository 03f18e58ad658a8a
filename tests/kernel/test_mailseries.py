# SPDX-License-Identifier: GPL-2.0-only
"""The mailable series: git am gives the patched tree byte for byte, whether it is cut into parts or not."""

import os
import re
import shutil
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import mailseries, state, steps, tree
from tests.conftest import set_base, write, write_all


def test_trees_differ(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    # kunit's parser is imported from the tree, which leaves Python's caches there.
    made = (other / "tools/__pycache__/kunit_parser.pyc", other / "obj-perf/vmlinux", one / "tools/same")
    for path in (*made, other / "tools/same", other / "dir/new.c", one / "gone.c"):
        write(path, "x\n")
    (one / "changed: yes").write_text("1\n")
    (other / "changed: yes").write_text("2\n")
    assert state.differing(one, other) == {"changed: yes", "dir/new.c", "gone.c"}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: None, default_base: None) -> Path:
    """A made-up clone: two steps, an owned script, a core edit."""
    set_base(monkeypatch, patches=tmp_path / "patches", build=tmp_path)
    monkeypatch.setattr(paths, "LINUX", tmp_path / "linux")
    monkeypatch.setattr(steps, "STEPS", tmp_path / "series")
    monkeypatch.setattr(mailseries, "run_checkpatch", lambda *args: None)
    monkeypatch.setattr(mailseries, "find_identity", lambda: mailseries.Identity("A", "a@b.c", 1_000_000_000))
    files = {
        "linux/kernel/padata_mt.c": "engine\n",
        "patches/series": "makefile.patch\n",
        "patches/makefile.patch": "--- a/Makefile\n+++ b/Makefile\n@@ -1 +1,2 @@\n a\n+b\n",
        "series/00-cover.msg": "Subject: the cover\n\nWhat it is.\n",
        "series/01-engine.msg": "Subject: padata: new engine\nOwns: kernel/padata_mt.c\nHook: makefile.patch\n\nWhy.\n",
        "series/02-tests.msg": "Subject: selftests: padata\nOwns: tools/x/\n\nWhy.\n",
        "trees/stock/Makefile": "a\n",
        "trees/stock/kernel/fork.c": "fork\n",
    }
    write_all(tmp_path, files)
    write(tmp_path / "linux/tools/x/run.sh", "#!/bin/sh\n", 0o755)
    state.write_state(tmp_path / "trees/stock", state.State("6.12.1-1"))
    return tmp_path


@pytest.fixture
def parts(clone: Path) -> Path:
    """The same in two parts."""
    (clone / "series/00-cover.msg").unlink()
    files = {
        "parts.toml": '[[part]]\nname = "engine"\nsteps = ["01-engine.msg"]\n'
        '[[part]]\nname = "tests"\nsteps = ["02-tests.msg"]\n',
        "cover-engine.msg": "Subject: the engine\n\nWhat it is.\n",
        "cover-tests.msg": "Subject: tests\n\nWhat they are.\n",
    }
    write_all(clone / "series", files)
    return clone


def test_git_am_of_all_parts_gives_the_patched_tree(parts: Path) -> None:
    mails = mailseries.export(parts / "out")
    assert [str(mail.relative_to(parts / "out")) for mail in mails] == [
        *("1-engine/0000-cover-letter.patch", "1-engine/0001-padata-new-engine.patch"),
        *("2-tests/0000-cover-letter.patch", "2-tests/0001-selftests-padata.patch"),
    ]
    mailseries.check(parts / "out")
    assert (parts / "series/check/kernel/padata_mt.c").read_text() == "engine\n"
    assert os.access(parts / "series/check/tools/x/run.sh", os.X_OK)
    first, mail, second, _ = (mail.read_text() for mail in mails)
    assert "[PATCH 0/1] the engine" in first and "What it is." in first and "[PATCH 0/1] tests" in second
    assert "This is part 1 of 2, against Debian's linux-source-6.12, version 6.12.1-1." in first
    assert "version 6.12.1-1 with part 1 applied." in second
    assert "Signed-off-by: A <a@b.c>" in mail
    assert [path.read_text() for path in mailseries.export(parts / "out")][:2] == [first, mail]


@pytest.mark.parametrize("name", ["kernel/padata_mt.c", "kernel/fork.c", "kernel/new.c"])
def test_check_sees_any_difference(clone: Path, name: str) -> None:
    mailseries.export(clone / "out")
    (tree.ensure_tree("patched") / name).write_text("other\n")
    with pytest.raises(LabError) as error:
        mailseries.check(clone / "out")
    assert error.value.detail == [f"differs: {name}"]


def test_an_older_export_goes_and_other_files_stay(parts: Path) -> None:
    out = parts / "out"
    mailseries.export(out)
    shutil.copytree(out / "1-engine", out / "9-old")
    (out / "1-engine/0009-old.patch").write_text("old\n")
    (out / "2-tests/notes").write_text("mine\n")
    mailseries.export(out)
    assert not (out / "9-old").exists() and not (out / "1-engine/0009-old.patch").exists()
    assert (out / "2-tests/notes").exists()


def test_patches_of_something_else_stay(clone: Path) -> None:
    mine = clone / "out/0001-mine.patch"
    write(mine, "mine\n")
    with pytest.raises(LabError, match="not of this series"):
        mailseries.export(clone / "out")
    (clone / "out/0000-cover-letter.patch").write_text("Subject: mine\n\nThis is about mine.\n")
    with pytest.raises(LabError, match="not of this series"):
        mailseries.export(clone / "out")
    assert mine.read_text() == "mine\n"


@pytest.mark.parametrize(
    "message", sorted({*paths.ROOT.glob("series/*.msg"), *paths.ROOT.glob("bases/*/series/*.msg")}), ids=str
)
def test_no_line_of_a_message_is_too_long_to_be_mailed(message: Path) -> None:
    no_text = rf"^(?:(?:Subject|Owns|Hook|Link): .*|{steps.TABLE})$"
    lines = re.sub(no_text, "", message.read_text(), flags=re.MULTILINE)
    assert [line for line in lines.splitlines() if len(line) > 74] == []


@pytest.mark.series
@pytest.mark.usefixtures("kernel_tree")
def test_the_real_series(tmp_path: Path) -> None:
    """git am on the package's source gives ./lab tree, byte for byte; checkpatch --strict is clean."""
    mailseries.export(tmp_path)
    mailseries.check(tmp_path)


SCRIPT = """\
print "ran\\n";
for (grep {/patch$/} @ARGV) { open F, $_; while (<F>) { print "$ARGV[-1]:1: ERROR: bad\\n" if /bad/ } }
"""


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: None) -> Path:
    set_base(monkeypatch, build=tmp_path)
    write(tmp_path / "scripts/checkpatch.pl", SCRIPT)
    return tmp_path


def mail_of(top: Path, body: str, sender: str = "a") -> list[Path]:
    path = top / "0001.patch"
    path.write_text(f"From {sender}\nFrom: {sender}\nSubject: x\n\n{body}\n")
    return [path]


def test_a_clean_patch_is_looked_at_once_by_one_script(top: Path) -> None:
    def ran(body: str, sender: str = "a") -> bool:
        mailseries.run_checkpatch(top, mail_of(top, body, sender))
        log = top / "logs/checkpatch.log"
        there = log.exists()
        log.unlink(missing_ok=True)
        return there

    assert ran("good") and not ran("good", sender="another commit")
    assert ran("good as well")
    (top / "scripts/spelling.txt").write_text("goood||good\n")
    assert ran("good as well")


def test_a_remark_is_an_error_each_time(top: Path) -> None:
    for _ in range(2):
        with pytest.raises(LabError, match="1 remarks on the series"):
            mailseries.run_checkpatch(top, mail_of(top, "bad"))
