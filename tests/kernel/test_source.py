# SPDX-License-Identifier: GPL-2.0-only
"""The kernel source: cache, package index and mirror, each there, old, or missing.

apt-cache and apt-get are scripts: the index is a file of versions, the mirror a
folder.  dpkg, which compares versions, is the real one.
"""

import os
import subprocess
from pathlib import Path

import pytest

from padlab.core import aptsuite, paths, progress
from padlab.core.errors import AbsentError, LabError
from padlab.kernel import source, state, tree
from tests.conftest import set_base

TESTED, NEWER, OLDER, OLDEST = "6.12.117-1~deb12u1", "6.12.117-1", "6.12.99-1", "6.12.9-1"

APT_CACHE = """\
#!/bin/sh
cd "${0%/*}" && echo "$0 $*" >>calls && [ -s index ] || exit 100
echo "linux-source-6.12:"
echo "  Installed: (none)"
echo "  Candidate: $(head -n 1 index)"
echo "  Version table:"
while read -r version; do
	echo "     $version 500"
	echo "        500 http://mirror bookworm/main amd64 Packages"
done <index
"""
APT_GET = """\
#!/bin/sh
top=${0%/*}
echo "$0 $*" >>"$top/calls"
for last; do :; done
version=${last#*=}
if [ -e "$top/no-network" ]; then
	echo "E: Failed to fetch http://mirror/linux.deb  Temporary failure resolving 'mirror'"
	exit 100
fi
if [ ! -e "$top/mirror/$version" ]; then
	echo "E: Failed to fetch http://mirror/linux.deb  404  Not Found [IP: 192.0.2.1 80]"
	exit 100
fi
cp "$top/mirror/$version" "linux-source-6.12_${version}_all.deb"
"""


class Apt:
    """What this machine and the mirror have."""

    def __init__(self, top: Path) -> None:
        self.top = top
        (top / "mirror").mkdir(parents=True)
        for name, script in (("apt-cache", APT_CACHE), ("apt-get", APT_GET)):
            (top / name).write_text(script)
            (top / name).chmod(0o755)
        self.updates = 0
        self.after_update: list[str] = []

    def index(self, *versions: str) -> None:
        (self.top / "index").write_text("".join(f"{version}\n" for version in versions))

    def mirror(self, *versions: str) -> None:
        for version in versions:
            (self.top / "mirror" / version).write_text(version)

    def cache(self, *versions: str) -> None:
        paths.DOWNLOADS.mkdir(parents=True, exist_ok=True)
        for version in versions:
            source.deb(version).write_text(version)

    def network_off(self) -> None:
        (self.top / "no-network").touch()

    def update(self, _what: str) -> None:
        self.updates += 1
        if self.after_update:
            self.index(*self.after_update)

    def calls(self) -> list[str]:
        log = self.top / "calls"
        return (
            [line.split()[0].rsplit("/")[-1] for line in log.read_text().splitlines()] if log.exists() else []
        )


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
    apt = Apt(tmp_path / "apt")
    monkeypatch.setenv("PATH", f"{apt.top}:{os.environ['PATH']}")
    monkeypatch.setattr(paths, "DOWNLOADS", tmp_path / "downloads")
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(source, "package", lambda: source.Package("linux-source-6.12", TESTED))
    monkeypatch.setattr(source.packages, "update_index", apt.update)
    return apt


def got(update: bool = False) -> str:
    found = source.ensure_source(update)
    assert source.deb(found).read_text() == found
    assert not list(paths.DOWNLOADS.glob(".part-*"))
    return found


class TestCache:
    def test_the_tested_version_needs_no_apt(self, apt: Apt) -> None:
        apt.cache(NEWER, TESTED)
        apt.index(NEWER)
        assert got() == TESTED
        assert apt.calls() == [] and apt.updates == 0

    def test_without_an_index_the_newest_serves(self, apt: Apt) -> None:
        apt.cache(OLDEST, OLDER)
        assert got() == OLDER
        assert apt.calls() == ["apt-cache"] and apt.updates == 0

    def test_without_a_network_the_newest_serves(self, apt: Apt, capsys: pytest.CaptureFixture[str]) -> None:
        apt.cache(OLDER)
        apt.index(NEWER)
        apt.network_off()
        assert got() == OLDER
        assert f"could not be fetched: Temporary failure resolving 'mirror'; using {OLDER}" in said(capsys)

    def test_an_interrupted_download_is_removed(self, apt: Apt) -> None:
        apt.cache(OLDER)
        (paths.DOWNLOADS / ".part-x").mkdir()
        assert got() == OLDER


class TestIndex:
    def test_the_tested_version_is_preferred(self, apt: Apt) -> None:
        apt.index("6.12.130-1", TESTED)
        apt.mirror("6.12.130-1", TESTED)
        assert got() == TESTED

    def test_update_asks_for_the_newest(self, apt: Apt) -> None:
        apt.cache(TESTED)
        apt.index(TESTED)
        apt.after_update = ["6.12.130-1", TESTED]
        apt.mirror("6.12.130-1")
        assert got(update=True) == "6.12.130-1"
        assert apt.updates == 1

    def test_is_fetched_when_there_is_nothing_else(self, apt: Apt) -> None:
        apt.after_update = [NEWER]
        apt.mirror(NEWER)
        assert got() == NEWER
        assert apt.updates == 1

    def test_is_updated_once_when_older_than_the_mirror(self, apt: Apt) -> None:
        apt.index(OLDER)
        apt.after_update = [NEWER]
        apt.mirror(NEWER)
        assert got() == NEWER
        assert apt.updates == 1


class TestFailures:
    def test_neither_index_nor_cache(self, apt: Apt) -> None:
        assert fails() == (
            f"kernel source linux-source-6.12: the package index does not offer it, and none is in {paths.DOWNLOADS}; "
            "check the network; /etc/apt/sources.list needs Debian 13, or Debian 12 with its security suite"
        )
        assert apt.updates == 1

    def test_an_index_that_stays_older_than_the_mirror(self, apt: Apt) -> None:
        apt.index(OLDER)
        assert (
            f"version {OLDER}, which the package index names, is not on the mirror; run: apt-get" in fails()
        )
        assert apt.updates == 1
        assert apt.calls().count("apt-get") == 2

    def test_another_system(self, apt: Apt, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        assert "this is not a Debian system (no apt-get)" in fails()


class TestSuiteOfItsOwn:
    """A base whose package is in none of the host's suites."""

    PACKAGE, TESTED, NEWER = "linux-source-7.3", "7.3.4-1~bpo13+1", "7.3.9-1~bpo13+1"

    @pytest.fixture
    def suite(self, apt: Apt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
        package = source.Package(self.PACKAGE, self.TESTED, "trixie-backports")
        monkeypatch.setattr(source, "package", lambda: package)
        set_base(monkeypatch, "7.3", build=tmp_path)
        monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
        monkeypatch.setattr(aptsuite, "update", lambda _suite, what: apt.update(what))
        for name, script in (("apt-cache", SUITE_CACHE), ("apt-get", SUITE_GET)):
            (apt.top / name).write_text(script)
        return apt

    def offers(self, apt: Apt, *offered: tuple[str, str]) -> None:
        (apt.top / "index").write_text("".join(f"{package} {version}\n" for package, version in offered))
        apt.mirror(*(version for _, version in offered))

    def unreachable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def update(_suite: str, what: str) -> None:
            raise LabError(what, "the package index of trixie-backports cannot be had", "check the network")

        monkeypatch.setattr(aptsuite, "update", update)

    def test_is_asked_for_with_the_settings_of_the_suite(self, suite: Apt) -> None:
        self.offers(suite, (self.PACKAGE, self.TESTED))
        assert got() == self.TESTED
        assert suite.updates == 1
        config = str(paths.CACHE / "apt/trixie-backports/apt.conf")
        assert set((suite.top / "configs").read_text().split()) == {config}

    def test_moved_on_and_one_in_the_cache(self, suite: Apt) -> None:
        self.offers(suite, (self.PACKAGE, self.NEWER))
        suite.cache("7.3.6-1~bpo13+1")
        assert got() == "7.3.6-1~bpo13+1"
        assert got(update=True) == self.NEWER

    def test_another_series_alone_is_no_source(self, suite: Apt) -> None:
        others = ("linux-source-7.2", "7.2.9-1~bpo13+1"), ("linux-source-7.4", "7.4.2-1~bpo13+1")
        self.offers(suite, *others)
        with pytest.raises(AbsentError, match="does not offer it, .* --base 7.3 --source FILE"):
            source.ensure_source()

    def test_unreachable_index_with_a_cache(
        self, suite: Apt, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        suite.cache(self.NEWER)
        self.unreachable(monkeypatch)
        assert got() == got(update=True) == self.NEWER
        assert f"the package index of trixie-backports cannot be had; using {self.NEWER}" in said(capsys)

    def test_unreachable_index_without_a_cache(self, suite: Apt, monkeypatch: pytest.MonkeyPatch) -> None:
        self.unreachable(monkeypatch)
        assert "the package index of trixie-backports cannot be had; check the network" in fails()


SUITE_CACHE = """\
#!/bin/sh
cd "${0%/*}" && echo "$0 $*" >>calls && echo "$APT_CONFIG" >>configs
[ "$1" = policy ] || { cut -d" " -f1 index; exit; }
grep "^$2 " index | while read -r package version; do
	echo "$package:"
	echo "  Candidate: $version"
	echo "  Version table:"
	echo "     $version 100"
done
"""
SUITE_GET = """\
#!/bin/sh
top=${0%/*}
echo "$APT_CONFIG" >>"$top/configs"
for last; do :; done
cp "$top/mirror/${last#*=}" "${last%=*}_${last#*=}_all.deb"
"""


def fails() -> str:
    """The one line that the user sees."""
    with pytest.raises(LabError) as error:
        source.ensure_source()
    assert not error.value.detail and "\n" not in str(error.value)
    assert not list(paths.DOWNLOADS.iterdir()) or [p.name for p in paths.DOWNLOADS.iterdir()] == [".lock"]
    return str(error.value)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


class TestVersions:
    def test_are_ordered_as_debian_does(self) -> None:
        versions = [OLDEST, NEWER, TESTED, OLDER, "6.12.100-1"]
        assert source.newest(versions) == NEWER
        assert source.newest(["1:6.1-1", *versions]) == "1:6.1-1"
        assert source.newest([]) is None

    def test_files_have_apts_names(self, apt: Apt) -> None:
        assert source.deb("1:6.12.9-2").name == "linux-source-6.12_1%3a6.12.9-2_all.deb"
        apt.cache("1:6.12.9-2", TESTED)
        assert set(source.cached()) == {"1:6.12.9-2", TESTED}

    @pytest.mark.parametrize(
        ("version", "name"),
        [
            (TESTED, f"linux-source-6.12 {TESTED}"),
            ("7.4.2-1~bpo13+1", "linux-source-7.4 7.4.2-1~bpo13+1"),
            ("7.3.4 of linux-7.3.4.tar.xz (0123)", "Linux 7.3.4 of linux-7.3.4.tar.xz (0123)"),
        ],
    )
    def test_names(self, version: str, name: str) -> None:
        assert source.name_of(version) == name

    @pytest.mark.parametrize("candidate", [TESTED, None])
    def test_policy(self, candidate: str | None) -> None:
        text = f"linux-source-6.12:\n  Installed: (none)\n  Candidate: {candidate or '(none)'}\n  Version table:\n"
        assert source.parse_candidate(text) == candidate
        assert source.parse_candidate("") is None


class TestRecord:
    @pytest.mark.parametrize("name", paths.bases())
    def test_every_base_has_a_table(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        set_base(monkeypatch, name)
        assert source.package().series == name

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", r'source.toml: has no table \["6.12"\]; restore it'),
            ('["6.12"]\npackage = "linux"\ntested = "1"\n', "6.12.package: expected `str` matching"),
        ],
    )
    def test_faults(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default_base: None, text: str, why: str
    ) -> None:
        (tmp_path / "source.toml").write_text(text)
        monkeypatch.setattr(source, "RECORD", tmp_path / "source.toml")
        with pytest.raises(LabError, match=why):
            source.package()

    def test_another_version_is_named_once(self, apt: Apt, monkeypatch: pytest.MonkeyPatch) -> None:
        notes: list[str] = []
        monkeypatch.setattr(progress, "note", notes.append)
        source.warn_untested.cache_clear()
        for version in (TESTED, NEWER, NEWER):
            source.warn_untested(version)
        assert notes == [f"note: this commit was tested with linux-source-6.12 {TESTED}, this is {NEWER}"]


MAKEFILE = "# SPDX-License-Identifier: GPL-2.0\nVERSION = {}\nPATCHLEVEL = {}\nSUBLEVEL = {}\nEXTRAVERSION ={}\n\nall:\n"

pytestmark = pytest.mark.usefixtures("installed")


@pytest.fixture
def given_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    set_base(monkeypatch, "7.3", build=tmp_path)
    monkeypatch.setattr(source.packages, "ensure", lambda *groups: None)
    package = source.Package("linux-source-7.3", "7.3.4-1", "trixie-backports")
    monkeypatch.setattr(source, "package", lambda: package)
    source.warn_untested.cache_clear()
    return tmp_path


def kernel_folder(place: Path, *numbers: object, code: str = "code\n") -> Path:
    (place / "mm").mkdir(parents=True)
    (place / "Makefile").write_text(MAKEFILE.format(*numbers))
    (place / "mm/Makefile").write_text("VERSION = 1\n")
    (place / "mm/x.c").write_text(code)
    return place


def tarball(given_lab: Path, *numbers: object, code: str = "code\n", name: str = "linux.tar.xz") -> Path:
    folder = given_lab / f"source-{len(list(given_lab.iterdir()))}"
    kernel_folder(folder / "linux-x", *numbers, code=code)
    subprocess.run(["tar", "-C", folder, "-cJf", given_lab / name, "linux-x"], check=True)
    return given_lab / name


def made(path: Path) -> Path:
    return tree.ensure_tree("stock", given=source.look_at(path))


def given_fails(path: Path) -> str:
    with pytest.raises(LabError) as error:
        made(path)
    assert "\n" not in error.value.line() and not error.value.detail
    assert not (paths.base().trees / "stock").exists()
    return error.value.line()


class TestTarball:
    def test_stays_stock_and_is_not_unpacked_twice(self, given_lab: Path) -> None:
        path = tarball(given_lab, 7, 3, 4, "")
        stock = made(path)
        assert (stock / "mm/x.c").read_text() == "code\n"
        assert tree.source_version().startswith("7.3.4 of linux.tar.xz (")
        (stock / "mark").touch()
        assert made(path) == tree.ensure_tree("stock") == stock
        assert (stock / "mark").exists()

    def test_one_with_other_content_is_unpacked(self, given_lab: Path) -> None:
        made(tarball(given_lab, 7, 3, 4, ""))
        before = tree.source_version()
        stock = made(tarball(given_lab, 7, 3, 4, "", code="other\n"))
        assert (stock / "mm/x.c").read_text() == "other\n"
        assert tree.source_version() != before


class TestBadTarball:
    def test_of_another_base(self, given_lab: Path) -> None:
        assert "Linux 6.12.9, and base 7.3 is for 7.3.N; base 6.12 is for that." in given_fails(
            tarball(given_lab, 6, 12, 9, "")
        )

    def test_leaves_the_tree_that_is_there(self, given_lab: Path) -> None:
        stock = made(tarball(given_lab, 7, 3, 4, ""))
        with pytest.raises(LabError):
            made(tarball(given_lab, 7, 2, 9, "", name="other.tar.xz"))
        assert (stock / "mm/x.c").exists() and tree.source_version().startswith("7.3.4 ")

    def test_not_there(self, given_lab: Path) -> None:
        assert f"kernel source {given_lab / 'no.tar.xz'}: it is not there." in given_fails(
            given_lab / "no.tar.xz"
        )
        assert "it is no file." in given_fails(given_lab)

    def test_damaged(self, given_lab: Path) -> None:
        path = tarball(given_lab, 7, 3, 4, "", code=os.urandom(1 << 20).hex())
        path.write_bytes(path.read_bytes()[: 1 << 19])
        assert "it is no tarball, or damaged." in given_fails(path)
        assert state.read_state(paths.base().trees / "stock") is None

    def test_no_kernel(self, given_lab: Path) -> None:
        (given_lab / "x").mkdir()
        (given_lab / "x/README").touch()
        subprocess.run(["tar", "-C", given_lab, "-cJf", given_lab / "x.tar.xz", "x"], check=True)
        assert "it is no kernel source: there is no Makefile in it." in given_fails(given_lab / "x.tar.xz")

    def test_a_makefile_without_a_version(self, given_lab: Path) -> None:
        assert "there is no version in its Makefile." in given_fails(tarball(given_lab, "", "", "", ""))
