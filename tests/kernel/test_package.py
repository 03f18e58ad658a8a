# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages: names, versions, and what is said of the configuration.  dpkg is the real one."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.kernel import package
from padlab.kernel.givenconfig import GivenConfig
from padlab.kernel.kconfig import parse_config


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


def test_a_folder_that_cannot_be_written_is_refused_before_the_build(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match="give another folder"):
        package.make(tmp_path / "file", options(""))


def test_versions_are_in_the_order_of_commits() -> None:
    release = "6.12.9-padata-mt-amd64"
    versions = [
        package.version_of(release, "0abcdef", "20261124013419"),
        package.version_of(release, "0abcdef-dirty", "20261124013419"),
        package.version_of(release, "f000000", "20261124013420"),
        package.version_of("6.12.10-padata-mt-amd64", "0abcdef", "20261124013419"),
    ]
    assert versions[0] == "6.12.9+20261124013419.g0abcdef-1"
    for older, newer in pairwise(versions):
        subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)


def test_version_of_a_candidate_is_before_the_release() -> None:
    early, late = (package.version_of(f"7.3.0{rc}-padata-mt", "abc", "1") for rc in ("-rc1", ""))
    assert early == "7.3.0~rc1+1.gabc-1"
    subprocess.run(["dpkg", "--compare-versions", early, "lt", late], check=True)


ON = {"CONFIG_DEFERRED_STRUCT_PAGE_INIT": "y", "CONFIG_64BIT": "y", "CONFIG_SPARSEMEM": "y"}


def test_what_is_lacking_is_said_by_option() -> None:
    assert package.lacks(ON) == []
    off = ON | {"CONFIG_DEFERRED_STRUCT_PAGE_INIT": "n"}
    assert package.lacks(off) == ["CONFIG_DEFERRED_STRUCT_PAGE_INIT is off"]
    assert package.lacks(off | {"CONFIG_64BIT": "n"}) == ["CONFIG_64BIT is off"]
    assert package.lacks(off | {"CONFIG_KMSAN": "y", "CONFIG_SPARSEMEM": "n"}) == [
        "CONFIG_SPARSEMEM is off",
        "CONFIG_KMSAN is on",
    ]


def test_what_differs_is_listed() -> None:
    asked = parse_config(package.FRAGMENT.read_text())
    given = {
        "CONFIG_SPARSEMEM_VMEMMAP": "y",
        "CONFIG_DEBUG_INFO_NONE": "n",
        "CONFIG_DEBUG_INFO": "y",
        "CONFIG_DEBUG_INFO_BTF": "y",
        "CONFIG_KASAN": "y",
        "CONFIG_LOCALVERSION_AUTO": "y",
    }
    made = dict.fromkeys(asked, "y") | {"CONFIG_KASAN": "y", "CONFIG_LOCALVERSION_AUTO": "n"}
    assert package.differences(given, made, asked) == [
        "switched on: CONFIG_DEFERRED_STRUCT_PAGE_INIT, which was off",
        "switched on: CONFIG_MEMORY_HOTPLUG, which was off",
        "switched off: CONFIG_LOCALVERSION_AUTO, which was y",
        "switched on: CONFIG_DEBUG_INFO_NONE, which was off",
        "2 more that depend on those or on this Linux: CONFIG_DEBUG_INFO, CONFIG_DEBUG_INFO_BTF",
        "boot waits for struct pages: CONFIG_KASAN is on",
    ]
    assert package.differences(made, made, asked | {"CONFIG_KASAN": "y"})[:-1] == []
