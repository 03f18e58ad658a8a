# SPDX-License-Identifier: GPL-2.0-only
"""Kernel configurations that the user gives, good and bad."""

import gzip
import lzma
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.kernel import givenconfig, source

TEXT = """#
# Automatically generated file; DO NOT EDIT.
# Linux/{} {} Kernel Configuration
#
CONFIG_64BIT=y
CONFIG_LOCALVERSION=""
# CONFIG_NUMA is not set
# end of Kernel hacking
"""


@pytest.fixture(autouse=True)
def base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "package", lambda: source.Package("linux-source-6.12", "6.12.9-1"))


@pytest.mark.parametrize(
    ("name", "flavour"),
    [
        ("config-6.12.48+deb13-amd64", "amd64"),
        ("config-6.12.48+deb13-cloud-amd64", "cloud-amd64"),
        ("config-6.1.0-41-rt-amd64", "rt-amd64"),
        ("config-6.12.9-padata-mt-cloud-amd64", "cloud-amd64"),
        ("config.amd64_none_amd64.xz", "amd64"),
        ("config.amd64_none_cloud-amd64.xz", "cloud-amd64"),
        ("config.amd64_rt_amd64.xz", "rt-amd64"),
        ("config-6.12.9-mine", ""),
        (".config", ""),
    ],
)
def test_flavour(name: str, flavour: str) -> None:
    assert givenconfig.flavour_of(name) == flavour


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_read(tmp_path: Path, suffix: str, pack: type[bytes], end: str) -> None:
    path = tmp_path / f"config-6.12.9+deb13-amd64{suffix}"
    path.write_bytes(pack(TEXT.format("x86", "6.12.9").replace("\n", end).encode()))
    given = givenconfig.read(path)
    assert given.options == {"CONFIG_64BIT": "y", "CONFIG_LOCALVERSION": '""', "CONFIG_NUMA": "n"}
    assert str(path) in given.what


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TEXT.format("x86", "6.1.158"), r"it is of Linux 6\.1\.158, and the kernel to build is 6\.12"),
        (TEXT.format("x86", "6.120.1"), r"it is of Linux 6\.120\.1"),
        (TEXT.format("arm64", "6.12.9"), "it is for arm64"),
        ("CONFIG_64BIT=y\n", "no whole configuration"),
        (TEXT.format("x86", "6.12.9").replace("# end of", "# of"), "it is cut"),
        ("# Linux/x86 6.12.9 Kernel Configuration\n", "no whole configuration"),
        ("", "no whole configuration"),
    ],
)
def test_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(LabError, match=why) as caught:
        givenconfig.read(path)
    assert "linux-config-6.12" in caught.value.todo


def test_unreadable(tmp_path: Path) -> None:
    damaged = dict.fromkeys(("cut.xz", "cut.gz", "binary"), "damaged|unpacked")
    for name in damaged:
        (tmp_path / name).write_bytes(b"\x1f\x8b\x08\xfd\x00\xff" * 20)
    for name, why in {"none": "No such file", "": "Is a directory", **damaged}.items():
        with pytest.raises(LabError, match=why):
            givenconfig.read(tmp_path / name)


def test_of_this_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = {"ID": "debian"}
    monkeypatch.setattr(givenconfig, "BOOT", tmp_path)
    monkeypatch.setattr(givenconfig.platform, "freedesktop_os_release", lambda: system)
    monkeypatch.setattr(givenconfig.platform, "release", lambda: "6.12.48+deb13-amd64")
    assert givenconfig.of_this_system() is None
    path = tmp_path / "config-6.12.48+deb13-amd64"
    path.write_text("")
    assert givenconfig.of_this_system() == path
    system["ID"] = "ubuntu"
    assert givenconfig.of_this_system() is None
