# SPDX-License-Identifier: GPL-2.0-only
"""./lab boot's ways besides a plain boot."""

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from padlab import cli
from padlab.cli.boot import as_line
from padlab.core import exclusive, packages
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.kernel.build import Build
from padlab.kernel.kconfig import PERF
from padlab.vm import boot, channel, emulator, initramfs, lab_boot, machine
from tests.conftest import set_base

TINY = machine.load("tiny")
BUILD = Build("patched", PERF, Path("/t"), Path("/o"), Path("/o/bzImage"), "6.12.1-1", "6.12.1")
READY = boot.Ready(BUILD, Path("/i.cpio"))


def refuse(*args: object, **kwargs: object) -> None:
    raise AssertionError(f"not in a dry run: {args}")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it, and a clone with nothing built."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(emulator.OVERRIDE, raising=False)
    set_base(monkeypatch, build=tmp_path)
    # A dry run waits for no other run, either.
    for module, name in (
        (packages, "install"), (builds, "ensure_build"), (boot, "boot"), (exclusive, "held"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, refuse)
    return tmp_path


class TestDryRun:
    def line(self, capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
        with pytest.raises(SystemExit) as end:
            cli.main(["boot", "--machine", "tiny", "--dry-run", *args])
        out = capsys.readouterr().out
        assert (end.value.code, out.count("\n")) == (0, 1)
        return shlex.split(out)

    def test_on_a_bare_machine(self, bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
        args = self.line(capsys, "--kernel", "stock", "--config", "debug")
        assert args[0] == emulator.NAME
        assert args[args.index("-kernel") + 1] == f"{bare}/trees/stock/obj-debug/arch/x86/boot/bzImage"
        assert Path(args[args.index("-initrd") + 1]).parent == bare / "initramfs"
        assert not list(bare.iterdir())

    def test_what_options_do(self, bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
        args = self.line(capsys, "--append", "a=1  b", "--append", "c", "--threads", "50%")
        assert args[-1].endswith(" deferred_init_threads=50% a=1  b c") and "mon:stdio" not in args
        assert {"-s", "-S", "mon:stdio"} <= set(self.line(capsys, "--shell", "--gdb"))

    @pytest.mark.parametrize(
        ("args", "config"), [([], "perf"), (["--gdb"], "gdb"), (["--gdb", "--config", "debug"], "debug")]
    )
    def test_a_debugger_gets_a_kernel_with_lines(
        self, args: list[str], config: str, bare: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert f"/obj-{config}/" in " ".join(self.line(capsys, *args))


def test_what_to_type_for_gdb(tmp_path: Path) -> None:
    assert lab_boot.gdb_line(tmp_path) == f"gdb -ex 'target remote localhost:1234' {tmp_path}/vmlinux"
    (tmp_path / "vmlinux-gdb.py").touch()
    assert f"-iex 'add-auto-load-safe-path {tmp_path.parent}'" in lab_boot.gdb_line(tmp_path)


class TestShell:
    """With a shell script in QEMU's place."""

    @pytest.fixture
    def run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_qemu: None):
        set_base(monkeypatch, build=tmp_path)
        monkeypatch.setattr(boot, "prepare", lambda *_args: READY)

        def run(script: str) -> int:
            monkeypatch.setattr(boot.qemu, "command", lambda *_args: ["sh", "-c", script])
            return lab_boot.main(TINY, "patched", PERF, {}, shell=True)

        return run

    def test_is_on_this_terminal(self, run, capfd: pytest.CaptureFixture[str]) -> None:
        assert run("echo here") == 0
        assert capfd.readouterr().out == "here\n"

    def test_failure(self, run) -> None:
        with pytest.raises(LabError, match="a shell on tiny.*ended with status 1") as err:
            run("exit 1")
        assert err.value.log is not None and "exit 1" in err.value.log.read_text()


class TestCommand:
    @pytest.mark.parametrize(
        ("words", "line"), [((), ""), (("a | b",), "a | b"), (("echo", "a b", "$c"), "echo 'a b' '$c'")]
    )
    def test_words(self, words: tuple[str, ...], line: str) -> None:
        assert as_line(words) == line

    def test_is_in_its_image(self, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(initramfs, "_base", lambda *_args: [])
        monkeypatch.setattr(initramfs.shutil, "which", lambda _name: "/bin/busybox")
        images = {initramfs.planned("command", TINY.arch, line).name for line in ("ls", "ls -l")}
        assert len(images) == 2 and all(name.startswith("command-") for name in images)

    def test_its_output_and_status_are_ours(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        guest = channel.Guest("kernel 6.12\nout one\nout   two\nchecked lockdep\nout\ndone 7\n")
        prepared = []

        def booted(_machine: object, _ready: boot.Ready) -> SimpleNamespace:
            return SimpleNamespace(guest=guest, exit=7, trouble=())

        monkeypatch.setattr(boot, "prepare", lambda *args: prepared.append(args) or READY)
        monkeypatch.setattr(boot, "boot", booted)
        assert lab_boot.main(TINY, "patched", PERF, {}, command="ls /") == 7
        assert capsys.readouterr().out == "one\n  two\n\n"
        assert prepared == [("patched", PERF, "command", "ls /")]


def test_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert lab_boot.machines() == 0
    lines = capsys.readouterr().out.splitlines()
    first = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert first == ["machine", *machine.names()]
    (large,) = (line for line in lines if line.startswith("xeon-8167m "))
    assert "published" in large and "13.0" in large
    assert "2 nodes, 104 CPUs (2 threads a core), 768 GiB" in large
