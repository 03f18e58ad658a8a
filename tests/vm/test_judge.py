# SPDX-License-Identifier: GPL-2.0-only
"""A boot judged again by its folder: as after the boot, with the results of tests, and what is no boot."""

import json
import shutil
from pathlib import Path

import pytest

from padlab import cli
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.kernel.build import Build
from padlab.kernel.kconfig import PERF
from padlab.vm import boot, judge, ktap, machine
from padlab.vm.spec import BootSpec
from tests.conftest import EMULATED

DATA = Path(__file__).parent.parent / "data"
BUILD = Build("patched", PERF, Path("/t"), Path("/o"), Path("/o/bzImage"), "", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(DATA / "patched-three-nodes.log", tmp_path / "console.log")
    say(tmp_path, (DATA / "patched-three-nodes.guest.log").read_text(), "boot")
    return tmp_path


def say(folder: Path, text: str, role: str = "selftest") -> None:
    (folder / "guest.log").write_text(text)
    boot.note(folder, spec(role), BUILD, EMULATED)


def spec(role: str) -> BootSpec:
    return BootSpec(machine.load("three-nodes"), "patched", PERF, "50%", initrd=Path(f"/i/{role}-0123.cpio"))


def test_as_after_the_boot(folder: Path) -> None:
    result = judge.read(folder)
    assert (result.spec, result.build, result.accel) == (spec("boot"), BUILD, EMULATED)
    assert result.exit == 0 and [line.pages for line in result.dmesg.nodes] == [294912, 491520, 131072]


def test_the_summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge.main(folder)
    out = capsys.readouterr().out
    assert out.startswith("node 0 initialised, 294912 pages in 22ms, 2 threads\n")
    assert "2 threads of 1 expected (does not add up)" in out
    assert " by the guest's clock" in out and "wall time" not in out
    assert " managed = 98,759 early + 917,504 deferred, MemTotal has 1,016,263: not all accounted for" in out
    judge.main(folder, as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert (data["machine"], data["source_version"], data["tests"]) == ("three-nodes", None, None)
    assert [(node["threads"], node["expected_threads"]) for node in data["nodes"]] == [(2, 1), (2, 1), (1, 1)]
    assert (data["pages"]["managed"], data["exit"]) == (1016263, 0)


@pytest.mark.parametrize(
    ("said", "role", "status"),
    [
        ("running a\nktap a ok\ndone 0\n", "selftest", 0),
        ("running a\nktap a bad\ndone 0\n", "selftest", 1),
        ("running a\nktap a ok\ntrouble kmemleak: 3 objects leaked\ndone 0\n", "selftest", 1),
        ("out hello\ndone 3\n", "command", 1),
        ("done 0\n", "boot", 1),  # nothing of its pages
    ],
)
def test_status(
    said: str,
    role: str,
    status: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes = {"ok": Outcome(2, skips=("one: no",)), "bad": Outcome(1, ("one: 1 is not 2",))}
    monkeypatch.setattr(ktap, "parse", lambda lines, _tree: outcomes[lines[0]])
    say(folder, said, role)
    assert judge.main(folder) == status
    out = capsys.readouterr().out
    if "ktap a ok" in said:
        assert out.endswith("\ntests: 2 passed, 0 failed, 1 skipped\n  skipped: a: one: no\n")
        assert "pages  " not in out.replace("deferred pages", "") and "does not add up" not in out
    if "bad" in said:
        assert out.endswith("\ntests: 1 passed, 1 failed, 0 skipped\n  failed: a: one: 1 is not 2\n")
    assert out.startswith("hello\n") == said.startswith("out")


def test_a_guest_that_did_not_end_well(folder: Path) -> None:
    say(folder, "cpus 4\n")
    with pytest.raises(LabError, match="stopped before it was done; the last that it reported is 'cpus 4'"):
        judge.read(folder)


def test_what_is_no_boot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / boot.BOOTED).write_text("[]")
    with pytest.raises(LabError, match=r"boot.json is of another version of the lab"):
        judge.read(folder)
    (folder / boot.BOOTED).unlink()
    with pytest.raises(SystemExit) as end:
        cli.main(["judge", str(folder)])
    assert end.value.code == 1
    why = "boot.json cannot be read: No such file or directory. Give a folder of build/boots.\n"
    assert capsys.readouterr().err == f"lab: judging {folder}: {why}"
