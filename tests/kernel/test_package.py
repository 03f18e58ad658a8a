# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages: names, versions, and what is said of the configuration.  dpkg is the real one."""

import errno
import os
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import package
from padlab.kernel.givenconfig import GivenConfig
from padlab.kernel.kconfig import parse_config
from tests.conftest import write_all


@pytest.mark.parametrize(
    ("own", "flavour", "ends"),
    [
        ("", "amd64", "-padata-mt-amd64"),
        ("", "", "-padata-mt"),
        ("-mine", "", "-mine-padata-mt"),
        ("-padata-mt-cloud-amd64", "cloud-amd64", "-padata-mt-cloud-amd64"),
    ],
)
def test_local_version(own: str, flavour: str, ends: str) -> None:
    given = GivenConfig("a configuration", flavour, f'CONFIG_LOCALVERSION="{own}"\n')
    assert package.local_version(given) == ends


def options(text: str) -> GivenConfig:
    return GivenConfig("a configuration", "amd64", text)


def test_rusts_compiler_is_found_for_who_uses_it() -> None:
    assert package.tools(options("CONFIG_RUST=y\n")) == ["RUSTC=rustc"]
    assert package.tools(options("CONFIG_RUSTC_VERSION=109500\n# CONFIG_RUST is not set\n")) == []


@pytest.mark.parametrize("own", ["-my_own", "-Mine", "-a b"])
def test_a_name_that_no_package_can_have(tmp_path: Path, own: str) -> None:
    with pytest.raises(LabError, match="packages cannot be called"):
        package._wanted(tmp_path, options(f'CONFIG_LOCALVERSION="{own}"\n'))


def test_keys_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    named = 'CONFIG_SYSTEM_TRUSTED_KEYS="debian/keys.pem"\nCONFIG_MODULE_SIG_KEY="mine.pem"\n'
    found = parse_config(package._wanted(tmp_path, options(named)))
    assert found["CONFIG_SYSTEM_TRUSTED_KEYS"] == '""'
    assert found["CONFIG_MODULE_SIG_KEY"] == '"certs/signing_key.pem"'
    for name in ("debian/keys.pem", "mine.pem"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    usual = 'CONFIG_SYSTEM_TRUSTED_KEYS=""\nCONFIG_MODULE_SIG_KEY="certs/signing_key.pem"\n'
    for text in (named, usual):
        found = parse_config(package._wanted(tmp_path, options(text)))
        assert not {"CONFIG_SYSTEM_TRUSTED_KEYS", "CONFIG_MODULE_SIG_KEY"} & set(found)


def test_the_folder_is_looked_at_before_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [paths.ROOT / "lab", "package", "--config", tmp_path / "nothing", tmp_path / "file/in"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Give another folder" in done.stderr


NAME = "linux-image-6.12.9-padata-mt"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The user's folder, with an earlier package and one of another name."""
    names = (f"{NAME}_1_amd64.deb", f"{NAME}-mine_1_amd64.deb")
    write_all(tmp_path / "there", dict.fromkeys(names, "old\n"))
    (tmp_path / f"{NAME}_2_amd64.deb").write_text("new\n")
    return tmp_path / "there"


def test_earlier_packages_of_the_same_name_are_replaced(there: Path) -> None:
    name = f"{NAME}_2_amd64.deb"
    assert package._deliver([there.parent / name], there, "packing") == (there / name,)
    found = {path.name: path.read_text() for path in there.iterdir()}
    assert found == {name: "new\n", f"{NAME}-mine_1_amd64.deb": "old\n"}


def test_without_room_earlier_ones_stay(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_from: Path, to: Path) -> None:
        to.write_text("ne")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(LabError, match=f"{there} cannot take them: No space left on device"):
        package._deliver([there.parent / f"{NAME}_2_amd64.deb"], there, "packing")
    assert {path.read_text() for path in there.iterdir()} == {"old\n"}
    assert len(list(there.iterdir())) == 2


def test_versions_are_in_the_order_of_commits() -> None:
    ours = "-padata-mt-amd64"
    versions = [
        package.version_of(f"6.12.0-rc1{ours}", "0abcdef", "20261124013421"),
        package.version_of(f"6.12.9{ours}", "0abcdef", "20261124013419"),
        package.version_of(f"6.12.9{ours}", "0abcdef-dirty", "20261124013419"),
        package.version_of(f"6.12.9{ours}", "f000000", "20261124013420"),
        package.version_of(f"6.12.10{ours}", "0abcdef", "20261124013419"),
    ]
    assert versions[0] == "6.12.0~rc1+20261124013421.g0abcdef-1"
    assert versions[1] == "6.12.9+20261124013419.g0abcdef-1"
    for older, newer in pairwise(
        [*versions[:1], package.version_of(f"6.12.0{ours}", "a", "1"), *versions[1:]]
    ):
        subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)


ON = {"CONFIG_DEFERRED_STRUCT_PAGE_INIT": "y", "CONFIG_64BIT": "y", "CONFIG_SPARSEMEM": "y"}


@pytest.mark.parametrize(
    ("options", "lacking"),
    [
        ({}, []),
        ({"CONFIG_DEFERRED_STRUCT_PAGE_INIT": "n"}, ["CONFIG_DEFERRED_STRUCT_PAGE_INIT is off"]),
        (
            {"CONFIG_DEFERRED_STRUCT_PAGE_INIT": "n", "CONFIG_KMSAN": "y", "CONFIG_SPARSEMEM": "n"},
            ["CONFIG_SPARSEMEM is off", "CONFIG_KMSAN is on"],
        ),
    ],
)
def test_what_is_lacking_is_said_by_option(options: dict[str, str], lacking: list[str]) -> None:
    assert package.lacks(ON | options) == lacking


def test_what_differs_is_listed() -> None:
    asked = parse_config(package.FRAGMENT.read_text())
    given = {
        "CONFIG_SPARSEMEM_VMEMMAP": "y",
        "CONFIG_DEBUG_INFO_NONE": "n",
        "CONFIG_KASAN": "y",
        "CONFIG_LOCALVERSION_AUTO": "y",
        "CONFIG_CC_IS_GCC": "y",
        "CONFIG_BPF": "m",
    }
    made = dict.fromkeys(asked, "y") | {"CONFIG_KASAN": "y", "CONFIG_LOCALVERSION_AUTO": "n"}
    assert package.differences(given, made, asked) == [
        "switched on: CONFIG_DEFERRED_STRUCT_PAGE_INIT, which was off",
        "switched off: CONFIG_LOCALVERSION_AUTO, which was y",
        "switched on: CONFIG_DEBUG_INFO_NONE, which was off",
        "2 more that depend on those or on this Linux: CONFIG_SPARSEMEM_VMEMMAP, CONFIG_BPF",
    ]
    assert package.differences(made, made, asked) == []
    off = made | {"CONFIG_DEFERRED_STRUCT_PAGE_INIT": "n"}
    assert package.differences(off, off, asked) == [
        "not switched on, as other options rule that out: CONFIG_DEFERRED_STRUCT_PAGE_INIT"
    ]
