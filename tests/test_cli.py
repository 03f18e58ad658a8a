# SPDX-License-Identifier: GPL-2.0-only
"""The command line as its user meets it: ./lab itself, in a process of its own."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from padlab import cli
from padlab.cli.shared import GROUPS, parse_threads
from padlab.core import exclusive, paths
from padlab.core.errors import AbsentError, LabError

COMMANDS = list(cli.cli.commands)


def lab(*args: str, cwd: Path = paths.ROOT) -> subprocess.CompletedProcess:
    return subprocess.run(
        [paths.ROOT / "lab", *args], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def test_every_command_is_in_one_group_and_has_a_line_to_itself(tmp_path: Path) -> None:
    """No wider than 80 columns, which is what is written into a pipe; from any folder."""
    done = lab("--help", cwd=tmp_path)
    grouped = [name for group in GROUPS.values() for name in group]
    assert len(set(grouped)) == len(grouped) and set(COMMANDS) <= set(grouped)
    listed = done.stdout.partition(f"\n{next(iter(GROUPS))}:\n")[2].splitlines()
    lines = [line.split(maxsplit=1) for line in listed if line.startswith(" ")]
    assert [name for name, _ in lines] == [name for name in grouped if name in COMMANDS]
    assert all(text.endswith(".") and not text.endswith("...") for _, text in lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example(command: str) -> None:
    assert f"./lab {command}" in cli.cli.commands[command].help


def test_help_is_quick_because_commands_import_late() -> None:
    script = "import sys, padlab.cli; assert not {'padlab.kernel.build', 'padlab.vm.boot'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], cwd=paths.ROOT, check=True)


@pytest.mark.parametrize(
    ("args", "base", "status", "says"),
    [
        (
            ["boot", "--machine", "no-such"],
            "",
            1,
            "lab: machine 'no-such': there is no such machine. Choose one",
        ),
        (["build", "--base", "9.9"], "", 1, "lab: base: there is no '9.9'. Choose one of: 6.12, 7.3.\n"),
        (["test", "--base=../x", "--list"], "", 1, "lab: base: there is no '../x'. Choose one of"),
        (["boot", "--dry-run"], "9.9", 1, "lab: base: there is no '9.9'"),
        (["fly"], "", 2, "Usage: "),
        (["series"], "", 2, "Usage: "),
    ],
)
def test_bad_input_is_answered(
    args: list[str], base: str, status: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(paths.BASE_VARIABLE, base)
    done = lab(*args)
    assert done.returncode == status and done.stderr.startswith(says)
    assert status == 2 or done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["1", "1000", "1%", "100%", "007"])
def test_thread_counts(text: str) -> None:
    assert parse_threads(text) == text.lstrip("0")


@pytest.mark.parametrize("text", ["0", "0%", "101%", "abc", "-1", "1.5", "", "4 ", "4%%", "٣", "9" * 10])
def test_bad_thread_counts(text: str) -> None:
    with pytest.raises(LabError, match=rf"--threads {text}: not a number of threads; give 1 or more"):
        parse_threads(text)


LOG = paths.base().logs / "build.log"


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (
            LabError("tree", "no room on disk", "free some space"),
            1,
            "tree: no room on disk. Free some space.\n",
        ),
        (AbsentError("tree", "it is not there", "wait"), 4, "tree: it is not there. Wait.\n"),
        (OSError(errno.EACCES, "Permission denied", "/x"), 1, "/x: Permission denied. Check the path, "),
        (
            LabError("building", "gcc failed", "fix it", log=LOG, detail=["f.c:1: error: e"]),
            1,
            f"building: gcc failed. Fix it.\n  f.c:1: error: e\nlog: {paths.shown(LOG)}\n",
        ),
    ],
)
def test_an_error_is_a_line_then_details_then_the_log(
    error: Exception, status: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise error

    monkeypatch.chdir(paths.ROOT)
    monkeypatch.setattr("padlab.kernel.tree.ensure_tree", fail)
    monkeypatch.setenv("PADLAB_LOCK_HELD", str(paths.SHARED / ".lock"))
    with pytest.raises(SystemExit) as end:
        cli.main(["tree"])
    assert end.value.code == status
    assert capsys.readouterr().err.startswith(f"lab: {said}")


HOLDER = """\
import sys, time
from pathlib import Path
from padlab import cli
from padlab.cli.shared import command
from padlab.core import paths, process
paths.SHARED = Path(sys.argv[1])

@command()
def hold():
    print("held", flush=True)
    process.run(["sh", "-c", f"echo $$ > {paths.SHARED}/child; sleep {sys.argv[2]}"], what="holding")

cli.main(["hold", *sys.argv[3:]])
"""


def heed_signals() -> None:
    """Undo what a background shell or nohup has its children ignore: they would inherit it."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_DFL)


def start_holder(build: Path, seconds: float, *args: str) -> subprocess.Popen:
    env = {name: value for name, value in os.environ.items() if name != "PADLAB_LOCK_HELD"}
    command, pipe = [sys.executable, "-c", HOLDER, str(build), str(seconds), *args], subprocess.PIPE
    return subprocess.Popen(
        command, cwd=paths.ROOT, env=env, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_signals
    )


def test_a_run_of_another_base_waits_too(tmp_path: Path) -> None:
    first = start_holder(tmp_path, 600, "--base", "7.3")
    child = child_of(first, tmp_path)
    second = start_holder(tmp_path, 0)
    assert f"./lab hold --base 7.3 (process {first.pid})" in second.stderr.readline()
    os.killpg(child, signal.SIGKILL)
    assert (second.wait(60), first.wait(60)) == (0, 1)


def test_a_run_that_a_run_starts_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "SHARED", tmp_path)
    monkeypatch.setenv("PADLAB_LOCK_HELD", "")
    command = [sys.executable, "-c", HOLDER, str(tmp_path), "0"]
    with exclusive.held("outer"):
        inner = subprocess.run(
            command, cwd=paths.ROOT, capture_output=True, text=True, timeout=60, check=True
        )
    assert inner.stdout == "held\n" and "waiting" not in inner.stderr


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["boot", "--json", "--shell"], 2),
        (["boot", "--json", "--dry-run"], 2),
        (["boot", "--json", "ls"], 2),
        (["boot", "--shell", "ls"], 2),
        (["boot", "--kernel", "x"], 2),
        (["boot", "--machine", "arm64", "--config", "perf"], 1),
        (["tree", "--update", "--source", "linux.tar.xz"], 2),
        (["kit"], 2),
        (["record", "starts", "--large"], 2),
        (["package", "/dev/null/kernel"], 1),
        (["mutants", "no-such"], 1),
        (["mutants", "--list"], 0),
    ],
)
def test_bad_input_and_lists_do_not_wait(
    args: list[str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(exclusive, "held", lambda name: pytest.fail(f"{name} takes the lock"))
    with pytest.raises(SystemExit) as end:
        cli.main(args)
    assert end.value.code == status and bool(capsys.readouterr().out) is (status == 0)


def child_of(run: subprocess.Popen, build: Path) -> int:
    assert run.stdout.readline() == "held\n"
    child = build / "child"
    while not (child.exists() and child.read_text().strip()):
        time.sleep(0.02)
    return int(child.read_text())


def test_what_a_killed_run_leaves_is_ended_by_the_next(tmp_path: Path) -> None:
    run = start_holder(tmp_path, 60)
    child = child_of(run, tmp_path)
    run.kill()
    run.wait(60)
    assert Path(f"/proc/{child}").exists()
    following = start_holder(tmp_path, 0)
    assert "killed run left behind" in following.stderr.readline()
    assert following.wait(60) == 0
    assert not Path(f"/proc/{child}/exe").exists()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_leaves_nothing_behind(tmp_path: Path, signum: int) -> None:
    run = start_holder(tmp_path, 60)
    child = child_of(run, tmp_path)
    run.send_signal(signum)
    assert run.wait(60) == 130
    assert run.stderr.read() == "\nlab: interrupted\n"
    assert not Path(f"/proc/{child}").exists()
