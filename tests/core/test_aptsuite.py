# SPDX-License-Identifier: GPL-2.0-only
"""apt with a state of its own: what it is told, and what is said when it fails.

apt's programs are scripts that note how they are called; a file has what apt-get update says.
"""

import os
from pathlib import Path

import pytest

from padlab.core import aptsuite, paths
from padlab.core.errors import AbsentError, LabError
from tests.conftest import set_base, write, write_all

MIRROR = "http://mirror.example/debian/"
TARGETS = f"""\
MetaKey: main/binary-amd64/Packages
Origin: Debian
Component: main
Release: bookworm
Repo-URI: {MIRROR}

MetaKey: main/binary-amd64/Packages
Origin: Debian
Component: main
Release: bookworm-security
Repo-URI: http://mirror.example/debian-security/
"""
DUMP = """\
Acquire::http "";
Acquire::http::Proxy "http://proxy:3142";
Acquire::http::Proxy-Auto-Detect "/usr/bin/auto";
Acquire::Check-Date "false";
Acquire::Languages:: "de";
APT::Update::Post-Invoke:: "rm -f /var/cache/apt/archives/*.deb";
"""
APT_GET = """\
#!/bin/sh
top=${0%/*}
case $1 in
indextargets) cat "$top/targets" ;;
update)
	echo "$APT_CONFIG" >>"$top/updates"
	cat "$top/says"
	[ ! -s "$top/says" ] || exit 100
	;;
esac
"""
APT_CONFIG = """\
#!/bin/sh
cat "${0%/*}/dump"
"""


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host's apt; the lab's cache is beside it."""
    top = tmp_path / "apt"
    write_all(top, {"targets": TARGETS, "dump": DUMP, "says": "", "keys.gpg": "keys"})
    for name, text in (("apt-get", APT_GET), ("apt-config", APT_CONFIG)):
        write(top / name, text, 0o755)
    monkeypatch.setenv("PATH", f"{top}:{os.environ['PATH']}")
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(aptsuite, "KEYRINGS", (top / "keys.gpg",))
    return top


def test_the_index_is_fetched_with_sources_of_its_own(apt: Path) -> None:
    aptsuite.update("trixie-backports", "getting source")
    place = paths.CACHE / "apt/trixie-backports"
    assert (apt / "updates").read_text() == f"{place / 'apt.conf'}\n"
    assert aptsuite.environment("trixie-backports") == {"APT_CONFIG": str(place / "apt.conf")}
    line = f"deb [signed-by={apt / 'keys.gpg'} arch=amd64] {MIRROR} trixie-backports main\n"
    assert (place / "sources.list").read_text() == line


def test_nothing_of_the_host_but_how_to_fetch(apt: Path) -> None:
    aptsuite.prepare("trixie-backports", "x")
    settings = (aptsuite.place_of("trixie-backports") / "apt.conf").read_text()
    assert 'Acquire::http::Proxy "http://proxy:3142";' in settings
    assert not any(word in settings for word in ("Post-Invoke", '"de"', "Auto-Detect", '""'))
    told = dict(line.rstrip(";").split(" ", 1) for line in settings.splitlines())
    assert told["Dir::Etc::sourceparts"] == told["Dir::Etc::parts"] == '"/dev/null"'
    for name in ("Dir::Etc::sourcelist", "Dir::State::lists", "Dir::Cache", "Dir::Cache::archives"):
        assert Path(told[name].strip('"')).is_relative_to(paths.CACHE)


@pytest.mark.parametrize(
    ("says", "why", "todo"),
    [
        (
            "W: GPG error: http://m trixie-backports InRelease: The following signatures couldn't be verified "
            "because the public key is not available: NO_PUBKEY 6ED0E7B82643E131\n"
            "E: The repository 'http://m trixie-backports InRelease' is not signed.\n",
            "this host does not have the key that trixie-backports is signed with",
            "apt-get install debian-archive-keyring",
        ),
        (
            "W: OpenPGP signature verification failed: http://m trixie-backports InRelease: Sub-process "
            "/usr/bin/sqv returned an error code (1), error message is: Missing key B7C5D7D6350947F8\n",
            "this host does not have the key that trixie-backports is signed with",
            "debian-archive-keyring",
        ),
        (
            "E: The repository 'http://m trixie-backports Release' does not have a Release file.\n",
            "the mirror in apt's sources has no trixie-backports",
            "use a mirror",
        ),
        (
            "E: Failed to fetch http://m/dists/trixie-backports/InRelease  Temporary failure resolving 'm'\n",
            "the package index of trixie-backports cannot be had: the Debian mirror cannot be reached",
            "check the network",
        ),
    ],
)
def test_says_why_there_is_no_index(apt: Path, says: str, why: str, todo: str) -> None:
    (apt / "says").write_text(says)
    with pytest.raises(LabError) as error:
        aptsuite.update("trixie-backports", "kernel source x")
    assert (error.value.what, error.value.why) == ("kernel source x", why)
    assert todo in error.value.todo and error.value.log and not error.value.detail
    assert isinstance(error.value, AbsentError) == ("Release file" in says)


def test_a_host_without_debians_keys(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aptsuite, "KEYRINGS", (apt / "none.gpg",))
    with pytest.raises(
        LabError, match="does not have the keys that Debian signs .* install debian-archive-keyring"
    ):
        aptsuite.update("trixie-backports", "x")
    assert not (apt / "updates").exists()


def test_a_host_without_a_mirror(apt: Path) -> None:
    (apt / "targets").write_text("")
    with pytest.raises(LabError, match="no Debian mirror, from which trixie-backports could be had"):
        aptsuite.update("trixie-backports", "x")
