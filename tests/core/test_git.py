# SPDX-License-Identifier: GPL-2.0-only
"""The commit that results carry."""

import subprocess
from pathlib import Path

import pytest

from padlab.core import git
from tests.conftest import write_all


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "clone"
    write_all(top, {"linux/a.c": "1\n", "results/b.json": "1\n"})
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@b.c")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=top, check=True)
    return top


@pytest.mark.parametrize("changed", ["linux/a.c", "linux/new.c"])
def test_clean_and_changed(clone: Path, changed: str) -> None:
    name = git.commit(clone)
    assert len(name) >= 7 and set(name) <= set("0123456789abcdef")
    (clone / "results/b.json").write_text("2\n")
    (clone / "results/new.json").write_text("2\n")
    assert git.commit(clone) == name
    (clone / changed).write_text("2\n")
    assert git.commit(clone) == f"{name}-dirty"


def test_a_copy_in_another_clone_and_a_host_without_git(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / "copy").mkdir()
    assert git.commit(clone / "copy") == "unknown"
    monkeypatch.setenv("PATH", "/nowhere")
    assert git.commit(clone) == "unknown"
