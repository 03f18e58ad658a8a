# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages: what is missing is installed, once more after an update, and failures say why."""

import os
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from padlab.core import packages, process
from padlab.core.errors import LabError
from tests.conftest import set_base, write


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


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == "apt-get" else None)


INDEX = ["install", "update", "install"]


@pytest.mark.parametrize(
    ("answers", "ran", "why"),
    [
        # An old index is updated once.
        (["Err:1 x 404  Not Found", ""], INDEX, ""),
        (["E: Unable to locate package saw", ""], INDEX, ""),
        (["404", "E: Failed to fetch x  404"], INDEX, "installing saw: Failed to fetch x  404; check"),
        # An installation that was cut off is finished.
        (["E: dpkg was interrupted, you must ...", ""], ["install", "--configure", "install"], ""),
        (["E: You don't have enough free space in /var."], ["install"], "no room on disk"),
    ],
)
def test_install(
    root: None, monkeypatch: pytest.MonkeyPatch, answers: list[str], ran: list[str], why: str
) -> None:
    """``answers`` are what the runs of "apt-get install" print, nothing if all is well."""
    runs, left = [], list(answers)

    def run(cmd: list[str], *, what: str, log: Path, todo: str, **_rest: object) -> None:
        runs.append(cmd[1])
        answer = left.pop(0) if cmd[1] == "install" else ""
        write(log, answer)
        if answer:
            raise LabError(what, "apt-get ended with status 100", todo, log=log)

    monkeypatch.setattr(process, "run", run)
    with pytest.raises(LabError, match=why) if why else nullcontext():
        packages.install(["saw"])
    assert runs == ran


def test_without_root_one_line_says_what_to_run(monkeypatch: pytest.MonkeyPatch, root: None) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match=r"needs root; run as root: apt-get install -y .* saw$"):
        packages.install(["saw"])


def test_what_is_missing_is_installed_and_then_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setitem(packages.GROUPS, "tools", {"saw": "saw", "nails": "/usr/include/nails.h"})
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/saw" if name == "saw" else None)
    monkeypatch.setattr(packages, "install", asked.append)
    with pytest.raises(LabError, match="installed nails, yet it is not there"):
        packages.ensure("tools")
    assert asked == [["nails"]]
