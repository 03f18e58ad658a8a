# SPDX-License-Identifier: GPL-2.0-only
"""Files of packages of another architecture, with scripts in place of apt-get and dpkg-deb."""

from pathlib import Path

import pytest

from padlab.core import foreign, paths
from padlab.core.errors import LabError
from tests.conftest import set_base, write

# What it is called with goes to a log; "download" leaves a package in its folder.
APT = """#!/bin/sh
echo "$@" >>"{log}"
case "$*" in
*" update") exit 100 ;;
*" download "*) {download} ;;
esac
"""
DPKG = """#!/bin/sh
mkdir -p "$3/{folder}" && cat "$2" >"$3/{folder}/busybox"
"""


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "DOWNLOADS", tmp_path / "downloads")
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    program(tmp_path, "apt-get", APT, download="echo arm64 >busybox-static_1_arm64.deb")
    program(tmp_path, "dpkg-deb", DPKG, folder="bin")
    return tmp_path / "apt.log"


def program(top: Path, name: str, text: str, **values: str) -> None:
    write(top / "bin" / name, text.format(log=top / "apt.log", **values), 0o755)


@pytest.mark.parametrize("folder", ["bin", "usr/bin"])
def test_a_file_is_found_where_either_debian_has_it(apt: Path, folder: str) -> None:
    program(apt.parent, "dpkg-deb", DPKG, folder=folder)
    assert foreign.extract("busybox-static", "arm64", "bin/busybox") == b"arm64\n"


def test_is_downloaded_once_and_the_host_is_left_as_it_is(apt: Path) -> None:
    for _ in range(2):
        foreign.extract("busybox-static", "arm64", "bin/busybox")
    update, download = apt.read_text().splitlines()  # a source that fails is no reason to stop
    assert download.endswith(" download busybox-static")
    for line in (update, download):
        assert "APT::Architecture=arm64 " in line and "Dir::State::status=/dev/null" in line
        assert f"Dir::State={paths.DOWNLOADS}" in line and f"Dir::Cache={paths.DOWNLOADS}" in line
    assert [path.name for path in paths.DOWNLOADS.glob("[!.]*")] == ["busybox-static_1_arm64.deb"]
    assert not list(paths.DOWNLOADS.glob(".part-*"))


def test_a_mirror_without_it(apt: Path) -> None:
    program(apt.parent, "apt-get", APT, download="echo 'E: Unable to locate package x'; exit 100")
    with pytest.raises(LabError, match="for arm64: Unable to locate package x; .* that architecture"):
        foreign.extract("busybox-static", "arm64", "bin/busybox")
    assert not list(paths.DOWNLOADS.glob("[!.]*")) and not list(paths.DOWNLOADS.glob(".part-*"))


def test_a_package_without_the_file(apt: Path) -> None:
    with pytest.raises(LabError, match="it has no bin/cat"):
        foreign.extract("busybox-static", "arm64", "bin/cat")
