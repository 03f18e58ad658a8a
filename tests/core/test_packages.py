# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages: what is missing is installed, once more after an update, and failures say why."""

import os
import shutil
from pathlib import Path

import pytest

from padlab.core import packages, process
from padlab.core.errors import LabError
from tests.conftest import set_base

GROUPS = {"tools": {"saw": "saw", "nails": "/usr/include/nails.h"}}


@pytest.mark.parametrize(
    "text, why",
    [
        (
            "E: Failed to fetch x  Temporary failure resolving 'd'\nE: x",
            "the Debian mirror cannot be reached",
        ),
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "no room on disk"),
        ("dpkg: error: write: No space left on device\nE: Sub-process", "no room on disk"),
        ("E: Could not get lock /var/lib/dpkg/lock-frontend.", "another apt or dpkg is running"),
        ("Reading\nE: Unable to locate package saw\n", "Unable to locate package saw"),
        ("Err:1 x\nE: Failed to fetch x  404\nE: Unable to fetch some archives", "Failed to fetch x  404"),
        ("", "apt-get failed"),
    ],
)
def test_reason(text: str, why: str) -> None:
    assert packages.reason(text) == why


class Apt:
    """Stands for apt-get: ``answers`` are what the runs of "install" print; None is success."""

    def __init__(self, answers: list[str | None]) -> None:
        self.answers = answers
        self.ran: list[str] = []

    def run(self, cmd: list[str], *, what: str, log: Path, todo: str, **_rest: object) -> str:
        self.ran.append(cmd[1])
        answer = self.answers.pop(0) if cmd[1] == "install" else None
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(answer or "")
        if answer is not None:
            raise LabError(what, "apt-get ended with status 100", todo, log=log)
        return ""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == "apt-get" else None)


def apt(monkeypatch: pytest.MonkeyPatch, *answers: str | None) -> Apt:
    stand_in = Apt(list(answers))
    monkeypatch.setattr(process, "run", stand_in.run)
    return stand_in


@pytest.mark.usefixtures("root")
class TestInstall:
    @pytest.mark.parametrize("stale", ["Err:1 x 404  Not Found", "E: Unable to locate package saw"])
    def test_an_old_index_is_updated_once(self, monkeypatch: pytest.MonkeyPatch, stale: str) -> None:
        ran = apt(monkeypatch, stale, None).ran
        packages.install(["saw"])
        assert ran == ["install", "update", "install"]

    def test_and_not_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stand_in = apt(monkeypatch, "Err:1 x 404  Not Found", "E: Failed to fetch x  404  Not Found")
        with pytest.raises(LabError, match="installing saw: Failed to fetch x  404  Not Found; check"):
            packages.install(["saw"])
        assert stand_in.ran == ["install", "update", "install"]

    def test_an_installation_that_was_cut_off_is_finished(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ran = apt(monkeypatch, "E: dpkg was interrupted, you must ...", None).ran
        packages.install(["saw"])
        assert ran == ["install", "--configure", "install"]

    def test_other_failures_are_final(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ran = apt(monkeypatch, "E: You don't have enough free space in /var.").ran
        with pytest.raises(LabError, match="no room on disk"):
            packages.install(["saw"])
        assert ran == ["install"]


def test_without_root_one_line_says_what_to_run(monkeypatch: pytest.MonkeyPatch, root: None) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match=r"needs root; run as root: apt-get install -y .* saw$"):
        packages.install(["saw"])


class TestMissing:
    def test_is_found_by_what_it_installs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packages, "GROUPS", GROUPS)
        monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/saw" if name == "saw" else None)
        assert packages.missing("tools") == ["nails"]

    def test_what_apt_did_not_bring_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packages, "missing", lambda *_groups: ["saw"])
        monkeypatch.setattr(packages, "install", lambda _names: None)
        with pytest.raises(LabError, match="installed saw, yet it is not there"):
            packages.ensure("build")
