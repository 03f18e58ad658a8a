# SPDX-License-Identifier: GPL-2.0-only
"""The kernel source: cache, package index and mirror, each there, old, or missing; and tarballs.

apt-cache and apt-get are scripts: the index is a file of packages with versions, the mirror a
folder.  dpkg, which compares versions, and tar are the real ones.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from padlab.core import aptsuite, paths, progress
from padlab.core.errors import AbsentError, LabError
from padlab.kernel import source, tree
from tests.conftest import set_base, write, write_all

pytestmark = pytest.mark.usefixtures("installed")

TESTED, LAST, NEWER, OLDER, OLDEST = (
    f"6.12.{rest}" for rest in ("117-1~deb12u1", "130-1", "117-1", "99-1", "9-1")
)
PORTED, NEXT, LATER = (f"7.3.{minor}-1~bpo13+1" for minor in (4, 6, 9))
HOSTS = source.Package("linux-source-6.12", TESTED)
PORTS = source.Package("linux-source-7.3", PORTED, "trixie-backports")

FETCH, UPDATE = "apt-cache apt-get", "update apt-cache apt-get"
TWICE = f"{FETCH} {UPDATE}"

APT_CACHE = """\
#!/bin/sh
cd "${0%/*}" && echo "apt-cache $APT_CONFIG" >>calls
echo "$2:"
echo "  Candidate: $(sed -n "s/^$2 //p" index | head -n 1)"
echo "  Version table:"
sed -n "s/^$2 \\(.*\\)/     \\1 500/p" index
"""
APT_GET = """\
#!/bin/sh
top=${0%/*}
echo "apt-get $APT_CONFIG" >>"$top/calls"
for last; do :; done
cp "$top/mirror/${last#*=}" "${last%=*}_${last#*=}_all.deb" && exit
cat "$top/failure"
exit 100
"""


@dataclass(frozen=True)
class Case:
    """What this machine and the mirror have: versions, or lines of the index; and what comes of it."""

    name: str = ""
    outcome: str = ""  # a version, or what is said
    calls: str = ""
    says: str = ""
    package: source.Package = HOSTS
    cache: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()  # the index after an update
    gone: tuple[str, ...] = ()  # which the mirror has not
    network: bool = True
    update: bool = False  # is asked for

    def use(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._write_index(top, self.index)
        there = {*self.index, *self.newer} - {*self.gone} if self.network else set()
        write_all(top / "mirror", {version: version for version in there})
        gone, silent = "404  Not Found [IP: 192.0.2.1 80]", "Temporary failure resolving 'mirror'"
        write(
            top / "failure", f"E: Failed to fetch http://mirror/x.deb  {gone if self.network else silent}\n"
        )
        write(top / "apt-cache", APT_CACHE, 0o755)
        write(top / "apt-get", APT_GET, 0o755)
        monkeypatch.setenv("PATH", f"{top}:{os.environ['PATH']}")
        monkeypatch.setattr(paths, "CACHE", top / "cache")
        monkeypatch.setattr(paths, "DOWNLOADS", top / "downloads")
        set_base(monkeypatch, self.package.series, build=top)
        monkeypatch.setattr(source, "package", lambda: self.package)
        paths.DOWNLOADS.mkdir()
        for version in self.cache:
            source.deb(version).write_text(version)

        def update(what: str) -> None:
            with (top / "calls").open("a") as file:
                file.write("update\n")
            if not self.network:
                raise LabError(what, "the package index cannot be had", "check the network")
            if self.newer:
                self._write_index(top, self.newer)

        monkeypatch.setattr(source.packages, "update_index", update)
        monkeypatch.setattr(aptsuite, "update", lambda _suite, what: update(what))

    def _write_index(self, top: Path, lines: tuple[str, ...]) -> None:
        named = (line if " " in line else f"{self.package.package} {line}" for line in lines)
        write(top / "index", "".join(f"{line}\n" for line in named))


def calls(top: Path) -> str:
    """What was called, in order; apt is told of a suite if it is to be."""
    lines = (top / "calls").read_text().splitlines() if (top / "calls").exists() else []
    suite = source.package().suite
    config = str(paths.CACHE / "apt" / suite / "apt.conf") if suite else ""
    assert all(line == "update" or line.partition(" ")[2] == config for line in lines)
    return " ".join(line.split()[0] for line in lines)


def of(cases: list[Case]) -> "pytest.MarkDecorator":
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


RESOLVING = "could not be fetched: Temporary failure resolving 'mirror'; using"
NO_SUITE = "the package index cannot be had; using"
GONE = f"{OLDER} has left the mirror"
FOUND = [
    Case("tested and no apt", TESTED, cache=(NEWER, TESTED), index=(NEWER,)),
    Case("no index", NEWER, "apt-cache", cache=(OLDEST, NEWER, f"{NEWER}~deb13u1", OLDER)),
    Case("no network", OLDER, FETCH, RESOLVING, cache=(OLDER,), index=(NEWER,), network=False),
    Case("tested is preferred", TESTED, FETCH, index=(LAST, TESTED)),
    Case("first index", NEWER, f"apt-cache update {FETCH}", newer=(NEWER,)),
    Case("old index", NEWER, TWICE, GONE, index=(OLDER,), newer=(NEWER,), gone=(OLDER,)),
    Case("update", LAST, UPDATE, cache=(TESTED,), newer=(LAST, TESTED), update=True),
    Case("of a suite", PORTED, UPDATE, package=PORTS, index=(PORTED,)),
    Case("suite moved on", NEXT, "update apt-cache", package=PORTS, cache=(NEXT,), index=(LATER,)),
    Case("no suite", NEXT, "update", NO_SUITE, package=PORTS, cache=(NEXT,), network=False),
    Case("suite's update", LATER, UPDATE, package=PORTS, cache=(NEXT,), index=(LATER,), update=True),
]


@of(FOUND)
def test_found(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case.use(tmp_path, monkeypatch)
    assert source.ensure_source(case.update) == case.outcome
    assert source.deb(case.outcome).read_text() == case.outcome
    assert calls(tmp_path) == case.calls
    assert case.says in " ".join(capsys.readouterr().err.split())


def test_an_interrupted_download_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Case(cache=(OLDER,)).use(tmp_path, monkeypatch)
    (paths.DOWNLOADS / ".part-x").mkdir()
    source.ensure_source()
    assert not (paths.DOWNLOADS / ".part-x").exists()


OTHERS = ("linux-source-7.2 7.2.9-1~bpo13+1", "linux-source-7.4 7.4.2-1~bpo13+1")
NOT_OFFERED = "kernel source linux-source-6.12: the package index does not offer it, and none is in "
STALE = f"version {OLDER}, which the package index names, is not on the mirror; run: apt-get"
NOT_FOUND = [
    Case("nothing", NOT_OFFERED, "apt-cache update apt-cache"),
    Case("no candidate", NOT_OFFERED, "apt-cache update apt-cache", index=("(none)",)),
    Case("stays stale", STALE, TWICE, index=(OLDER,), gone=(OLDER,)),
    Case("other series", "--base 7.3 --source FILE", "update apt-cache", package=PORTS, index=OTHERS),
    Case("no suite", "cannot be had; check the network", "update", package=PORTS, network=False),
]


@of(NOT_FOUND)
def test_not_found(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case.use(tmp_path, monkeypatch)
    with pytest.raises(LabError) as error:
        source.ensure_source()
    assert case.outcome in str(error.value) and "\n" not in str(error.value) and not error.value.detail
    assert isinstance(error.value, AbsentError) == (case.index == OTHERS)
    assert calls(tmp_path) == case.calls
    assert [path.name for path in paths.DOWNLOADS.iterdir()] == [".lock"]


def test_another_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Case().use(tmp_path, monkeypatch)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LabError, match=r"this is not a Debian system \(no apt-get\)"):
        source.ensure_source()


@pytest.mark.parametrize("name", paths.bases())
def test_every_base_has_a_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_base(monkeypatch, name)
    assert source.package().series == name


def test_a_base_without_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default_base: None) -> None:
    write(tmp_path / "source.toml", "")
    monkeypatch.setattr(source, "RECORD", tmp_path / "source.toml")
    with pytest.raises(LabError, match=r'source.toml: has no table \["6.12"\]; restore it'):
        source.package()


def test_an_untested_version_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    Case().use(tmp_path, monkeypatch)
    monkeypatch.setattr(progress, "note", notes.append)
    source.warn_untested.cache_clear()
    for version in (TESTED, NEWER, NEWER):
        source.warn_untested(version)
    assert notes == [f"note: this commit was tested with linux-source-6.12 {TESTED}, this is {NEWER}"]


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """On base 7.3, whose tree is made of tarballs."""
    Case(package=PORTS).use(tmp_path, monkeypatch)
    monkeypatch.setattr(source.packages, "ensure", lambda *groups: None)
    source.warn_untested.cache_clear()
    return tmp_path


def kernel(version: str, patchlevel: str, sublevel: str, code: str = "code\n") -> dict[str, str]:
    numbers = f"VERSION = {version}\nPATCHLEVEL = {patchlevel}\nSUBLEVEL = {sublevel}\nEXTRAVERSION =\n"
    return {"Makefile": f"# SPDX\n{numbers}\nall:\n", "mm/Makefile": "VERSION = 1\n", "mm/x.c": code}


def tarball(place: Path, files: dict[str, str], name: str = "linux.tar.xz") -> Path:
    write_all(place / f"of-{name}/linux-x", files)
    subprocess.run(["tar", "-C", place / f"of-{name}", "-caf", place / name, "linux-x"], check=True)
    return place / name


def made(path: Path) -> Path:
    return tree.ensure_tree("stock", given=source.look_at(path))


def test_a_tarball_stays_stock_until_its_content_differs(given: Path) -> None:
    path = tarball(given, kernel("7", "3", "4"))
    stock = made(path)
    assert (stock / "mm/x.c").read_text() == "code\n"
    before = tree.source_version()
    assert before.startswith("7.3.4 of linux.tar.xz (")
    (stock / "mark").touch()
    assert made(path) == tree.ensure_tree("stock") == stock
    assert (stock / "mark").exists()
    made(tarball(given, kernel("7", "3", "4", "other\n")))
    assert (stock / "mm/x.c").read_text() == "other\n" and tree.source_version() != before


OTHER_BASE = "Linux 6.12.9, and base 7.3 is for 7.3.N; base 6.12 is for that."


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (None, "it is not there."),
        ({}, "it is no file."),
        ({"README": ""}, "it is no kernel source: there is no Makefile in it."),
        (kernel("", "", ""), "there is no version in its Makefile."),
        (kernel("6", "12", "9"), OTHER_BASE),
        (kernel("7", "3", "4", "x" * (1 << 16)), "it is no tarball, or damaged."),
    ],
)
def test_a_bad_tarball_leaves_the_tree_as_it_is(given: Path, files: dict[str, str] | None, why: str) -> None:
    path = tarball(given, files, "other.tar") if files else given / ("downloads" if files == {} else "no.tar")
    if "damaged" in why:
        path.write_bytes(path.read_bytes()[: 1 << 15])
    for there in (False, True):
        if there:
            made(tarball(given, kernel("7", "3", "4")))
        with pytest.raises(LabError) as error:
            made(path)
        assert error.value.line().startswith(f"lab: kernel source {path}: ") and why in error.value.line()
        assert not error.value.detail
        assert (paths.base().trees / "stock").exists() is there
