# SPDX-License-Identifier: GPL-2.0-only
"""checkpatch on the series: what it remarks is an error, and what is clean is looked at once."""

from pathlib import Path

import pytest

from padlab.core import packages, paths
from padlab.core.errors import LabError
from padlab.kernel import checkpatch

SCRIPT = """\
print "ran\\n";
for (grep {/patch$/} @ARGV) { open F, $_; while (<F>) { print "$ARGV[-1]:1: ERROR: bad\\n" if /bad/ } }
"""


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(packages, "ensure", lambda *groups: None)
    monkeypatch.setattr(paths, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(checkpatch, "_CLEAN", tmp_path / "clean")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/checkpatch.pl").write_text(SCRIPT)
    return tmp_path


def mail(top: Path, body: str, sender: str = "a") -> list[Path]:
    path = top / "0001.patch"
    path.write_text(f"From {sender}\nFrom: {sender}\nSubject: x\n\n{body}\n")
    return [path]


def runs(top: Path) -> bool:
    """Whether it has run since the last time."""
    log = top / "logs/checkpatch.log"
    ran = log.exists()
    log.unlink(missing_ok=True)
    return ran


def test_a_clean_patch_is_looked_at_once(top: Path) -> None:
    checkpatch.check(top, mail(top, "good"))
    assert runs(top)
    checkpatch.check(top, mail(top, "good", sender="another commit"))
    assert not runs(top)
    checkpatch.check(top, mail(top, "good as well"))
    assert runs(top)


def test_so_it_is_by_another_script(top: Path) -> None:
    checkpatch.check(top, mail(top, "good"))
    assert runs(top)
    (top / "scripts/spelling.txt").write_text("goood||good\n")
    checkpatch.check(top, mail(top, "good"))
    assert runs(top)


def test_a_remark_is_an_error_each_time(top: Path) -> None:
    for _ in range(2):
        with pytest.raises(LabError, match="1 remarks on the series"):
            checkpatch.check(top, mail(top, "bad"))
