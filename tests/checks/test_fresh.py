# SPDX-License-Identifier: GPL-2.0-only
"""Bare roots: what they get of the host, what is mounted, how a run in one is judged, what is removed."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from checks.install import bareroot, fresh
from checks.install.bareroot import HostConfig
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from tests.conftest import set_base

TARGET = "Component: {}\nOrigin: {}\nRelease: {}\nRepo-URI: {}\n\n"
MIRROR = TARGET.format("main", "Debian", "trixie", "http://m/debian/")
# A suite that was never fetched has no origin.
UNFETCHED = MIRROR.replace("Origin: Debian\n", "")
OTHERS = "".join(
    TARGET.format(*words)
    for words in (
        ("main", "Docker", "trixie", "http://other/"),
        ("main", "other", "trixie-pgdg", "http://other/"),
        ("main", "Debian", "trixie-backports", "http://m/debian/"),
        ("contrib", "Debian", "trixie", "http://m/debian/"),
    )
)
SECURITY = TARGET.format("main", "Debian", "bookworm-security", "http://s/")


@pytest.mark.parametrize(
    ("targets", "sources"),
    [
        (MIRROR, ["http://m/debian/ {}"]),
        (MIRROR + SECURITY, ["http://m/debian/ {}", "http://s/ {}-security"]),
        (OTHERS + UNFETCHED, ["http://m/debian/ {}"]),
    ],
)
def test_the_hosts_mirror_with_the_suite_that_is_wanted(targets: str, sources: list[str]) -> None:
    wanted = [f"deb {source.format('forky')} main" for source in sources]
    assert HostConfig(targets, [], {}).sources("forky") == wanted


def test_no_mirror_among_what_is_not_debians_or_not_main() -> None:
    with pytest.raises(LabError, match="no Debian mirror"):
        HostConfig(OTHERS + SECURITY, [], {}).sources("trixie")


def test_pips_settings_those_of_the_environment_last() -> None:
    listing = """\
:env:.index-url='https://b/simple'
global.cert='/etc/ca.pem'
global.find-links='\\n/wheels\\n/more'
global.index-url='https://a/simple'
install.no-compile='yes'
freeze.timeout='10'
"""
    assert bareroot.pip_environment(listing) == {
        "PIP_CERT": "/etc/ca.pem",
        "PIP_FIND_LINKS": "/wheels /more",
        "PIP_INDEX_URL": "https://b/simple",
        "PIP_NO_COMPILE": "yes",
    }


def test_variables_of_the_network() -> None:
    passed = {"https_proxy": "p", "NO_PROXY": "n", "CI": "true"}
    given = passed | {"HOME": "/h", "PYTHONPATH": "/p", "all_proxy": ""}
    assert bareroot.passed_on(given) == passed


def test_files_that_settings_name_and_links_as_what_they_lead_to(tmp_path: Path) -> None:
    pem, wheels = tmp_path / "ca.pem", tmp_path / "wheels"
    pem.write_text("certificate")
    wheels.mkdir()
    apt = [f'Acquire::https::CAInfo "{pem}";']
    host = HostConfig("", apt, {"PIP_FIND_LINKS": f"{wheels} /nonexistent"})
    assert {pem, wheels} <= set(host.files())
    assert Path("/nonexistent") not in host.files()
    (tmp_path / "link").symlink_to(pem)
    (tmp_path / "root").symlink_to("/nonexistent/dangling")
    bareroot.copy(tmp_path / "link", tmp_path / "root")
    assert (tmp_path / "root").read_text() == "certificate" and not (tmp_path / "root").is_symlink()


MOUNTINFO = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 8:1 /home /build/fresh/trixie-1/root rw - ext4 /dev/sda1 rw
31 22 0:5 / /build/fresh/with\\040space-1/proc rw - proc proc rw
32 22 0:6 / /build/fresh/trixie-12 rw - tmpfs tmpfs rw
"""


def test_what_is_mounted_below() -> None:
    def below(name: str) -> list[str]:
        return [str(path) for path in bareroot.mounted_below(Path("/build/fresh") / name, MOUNTINFO)]

    assert below("trixie-1") == ["/build/fresh/trixie-1/root"]
    assert below("trixie-12") == ["/build/fresh/trixie-12"]
    assert below("with space-1") == ["/build/fresh/with space-1/proc"]
    assert below("bookworm-1") == []


def test_nothing_is_removed_with_a_mount_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bareroot, "mounted_below", lambda place, _text: [place / "root"])
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_rest: pytest.fail("something was removed"))
    with pytest.raises(LabError, match="is mounted in it"):
        bareroot.remove(tmp_path)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where roots are made by root, without namespaces."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(bareroot, "namespaces", lambda: ["env"])
    set_base(monkeypatch, build=tmp_path)
    return tmp_path / "fresh"


@pytest.mark.parametrize("end", [LabError("a", "b", "c"), KeyboardInterrupt(), None])
def test_a_root_is_removed_however_a_run_ends(
    place: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException | None
) -> None:
    monkeypatch.setattr(bareroot, "_debootstrap", lambda root, *_rest: (root.path / "root").mkdir())
    monkeypatch.setattr(HostConfig, "files", lambda _self: [])
    with (
        pytest.raises(type(end)) if end else contextlib.nullcontext(),
        bareroot.made("trixie", HostConfig("", [], {}), {}),
    ):
        if end:
            raise end
    assert list(place.iterdir()) == []


def test_what_a_killed_run_left_is_removed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "trixie-x1/proc").mkdir(parents=True)
    bareroot.remove_leftovers()
    assert "killed run left" in capsys.readouterr().err and not list(place.iterdir())


def test_a_host_without_namespaces(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no = ["sh", "-c", "echo unshare: unshare failed: Operation not permitted >&2; exit 1"]
    monkeypatch.setattr(bareroot, "namespaces", lambda: no)
    with pytest.raises(LabError, match="no namespace can be made here .*not permitted.*; run it as root"):
        bareroot.prepared(bareroot.ROOM)


def test_too_little_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=3 << 30)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(LabError, match=r"no room on disk: 3\.0 GiB free .* needed; free some space"):
        bareroot.prepared(bareroot.ROOM)


def test_a_mirror_that_cannot_be_reached(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = '[ "$1" = rm ] && exec "$@"; echo "W: Failed to fetch x Temporary failure resolving m"; exit 25'
    monkeypatch.setattr(bareroot, "namespaces", lambda: ["sh", "-c", script, "sh"])
    with (
        pytest.raises(LabError, match="bare Debian trixie: the Debian mirror cannot be reached"),
        bareroot.made("trixie", HostConfig(MIRROR, [], {}), {}),
    ):
        pass


QUICK, BOOT = "./lab test --quick", "./lab boot"
WANT = "a bare machine must not make a test be skipped"


@pytest.mark.parametrize(
    ("command", "status", "lines", "passed", "failures", "skips"),
    [
        (QUICK, 0, ["[1/1] x: ok", "412 passed, 0 failed"], 412, [], 0),
        (QUICK, 1, ["7 passed, 2 failed, 0 skipped"], 7, ["a test failed"] * 2, 0),
        *(
            (QUICK, 0, [f"  skipped: {why}", "7 passed, 0 failed, 1 skipped"], 7, [WANT], 0)
            for why in ("x: quilt is not installed", "no kernel tree yet", "could not import 'rich'")
        ),
        (QUICK, 0, ["  skipped: this CPU has no AVX-512", "7 passed, 0 failed, 2 skipped"], 7, [], 2),
        (QUICK, 0, [], 0, ["without a sum"], 0),
        (QUICK, 0, ["lab: interrupted"], 0, ["without a sum"], 0),
        (QUICK, 1, ["7 passed, 0 failed"], 7, ["--quick ended with status 1"], 0),
        (BOOT, 0, ["2 passed, 1 failed"], 1, [], 0),
        (BOOT, 3, [], 0, ["./lab boot ended with status 3"], 0),
    ],
)
def test_how_a_run_is_judged(
    command: str, status: int, lines: list[str], passed: int, failures: list[str], skips: int
) -> None:
    outcome = fresh.judge(command.split(), status, lines)
    assert (outcome.passed, len(outcome.skips)) == (passed, skips)
    assert all(said in failure for said, failure in zip(failures, outcome.failures, strict=True))


def test_both_commands_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default_base: None
) -> None:
    ran: list[str] = []

    def run(_root: object, suite: str, command: list[str]) -> Outcome:
        ran.append(f"{suite}: {' '.join(command)}")
        return Outcome(failures=("bad",)) if suite == "sid" else Outcome(1)

    monkeypatch.setattr(fresh, "_run", run)
    monkeypatch.setattr(fresh, "_clone", lambda _root: None)
    monkeypatch.setattr(fresh, "_keep_logs", lambda *_of: None)
    monkeypatch.setattr(bareroot, "prepared", lambda _room: HostConfig("", [], {}))
    monkeypatch.setattr(bareroot, "made", lambda *_how: contextlib.nullcontext())
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    assert fresh.proof("trixie") == Outcome(2)
    assert ran == ["trixie: ./lab boot", "trixie: ./lab test --quick"]
    assert fresh.proof("sid").failures == ("bad",) and len(ran) == 3
