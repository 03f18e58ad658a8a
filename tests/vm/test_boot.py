# SPDX-License-Identifier: GPL-2.0-only
"""Every way a boot can end, with a shell script in QEMU's place, and what is reported of it."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import structs

from padlab.core.errors import LabError
from padlab.kernel.build import Build
from padlab.kernel.kconfig import ARM64, DEBUG, PERF, Config
from padlab.vm import boot, channel, dmesg, machine, summary, watch
from padlab.vm.qemu import Ports
from padlab.vm.spec import BootSpec
from tests.conftest import EMULATED, EXACT, is_gone, set_base

DATA = Path(__file__).parent.parent / "data"
BUILD = Build("patched", PERF, Path("/t"), Path("/o"), Path("/o/bzImage"), "6.12.1-1", "6.12.1")
# As it was when its logs were recorded.
_NOW = machine.load("three-nodes")
BIG = machine.load("xeon-8167m")
THREE = structs.replace(_NOW, nodes=(structs.replace(_NOW.nodes[0], mib=1283), *_NOW.nodes[1:]))

pytestmark = pytest.mark.usefixtures("no_qemu")


@pytest.fixture
def run_as(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Boots with a script that gets the paths of console and channel as $1 and $2."""
    set_base(monkeypatch, build=tmp_path)

    def run(script: str, limit_s: float = 20, **spec: object) -> boot.BootResult:
        def command(_spec: object, _kernel: object, _qemu: object, _accel: object, ports: Ports) -> list[str]:
            files = [port.removeprefix("file:") for port in (ports.console, ports.channel)]
            return ["sh", "-c", script, "qemu", *files]

        monkeypatch.setattr(boot.qemu, "command", command)
        return boot.boot(THREE, boot.Ready(BUILD, Path("/i.cpio")), time_limit_s=limit_s, **spec)

    return run


def test_a_boot_to_its_end(run_as) -> None:
    result = run_as(f"cat {DATA}/patched-three-nodes.log >$1; cat {DATA}/patched-three-nodes.guest.log >$2")
    assert result.exit == 0
    assert (result.accel, result.build) == (EMULATED, BUILD)
    assert [line.node for line in result.dmesg.nodes] == [0, 1, 2]
    assert result.guest.number("cpus") == 4
    assert result.log.read_text() == (DATA / "patched-three-nodes.log").read_text()
    assert (result.folder / "command").read_text().startswith("sh -c")
    assert boot.noted(result.folder) == (result.spec, BUILD, EMULATED)
    assert result.clock.deferred_ms is not None


def test_other_good_ends(run_as, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {run_as("echo 'done 3' >$2").log for _ in range(3)}
    assert len(logs) == 3  # boots in one second have a folder each
    assert run_as("echo 'done 3' >$2").exit == 3
    # No limit while a debugger is awaited.
    assert run_as("sleep 0.3; echo 'done 0' >$2", limit_s=0.1, gdb=True).exit == 0
    # A guest that does not power off.
    monkeypatch.setattr(watch, "_EXIT_GRACE_S", 0.1)
    assert run_as("echo 'done 0' >$2; sleep 30").exit == 0


def failure(run_as, script: str, **kwargs: object) -> LabError:
    with pytest.raises(LabError) as err:
        run_as(script, **kwargs)
    assert err.value.what == "booting patched on three-nodes"
    assert err.value.log.exists()
    assert len(err.value.detail) <= 20
    return err.value


def test_panic(run_as) -> None:
    for before in ("", "echo 'done 0' >$2; "):
        err = failure(run_as, f"{before}cat {DATA}/panic.log >$1")
        assert "panicked: Fatal exception" in err.why
        assert any("NULL pointer" in line for line in err.detail)
        assert err.log.name == "console.log"


def test_hang_is_ended_with_all_its_processes(
    run_as, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limit passes when it has been seen to say all that it says."""
    pid = tmp_path / "pid"
    looks: list[bool] = []

    def clock() -> float:
        looks.append(pid.exists() and pid.read_text().endswith("\n"))
        return 3600.0 * (sum(looks) > 1)

    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=clock, sleep=time.sleep))
    err = failure(run_as, f"seq 30 >$1; sleep 600 & echo $! >{pid}; wait", limit_s=50)
    assert "not done within 50 s" in err.why
    assert err.detail == [str(n) for n in range(11, 31)]
    assert is_gone(int(pid.read_text()))


def test_qemu_fails(run_as) -> None:
    err = failure(run_as, "echo 'qemu: cannot set up guest memory: Cannot allocate memory' >&2; exit 1")
    assert "ended with status 1: qemu: cannot set up guest memory: Cannot allocate memory" in err.why
    assert err.log.name == "qemu.log"
    assert "SIGKILL" in failure(run_as, "kill -9 $$").why


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", ""),
        ("cpus 4\\n", "; the last that it reported is 'cpus 4'"),
        ("cpus 4\\nktap a ok 1 - wo", ", in the middle of a line of its report: 'ktap a ok 1 - wo'"),
        ("cpus 4\\ndone 0", ", in the middle of a line of its report: 'done 0'"),
        ("done 0\\ncpus 4\\n", "; the last that it reported is 'cpus 4'"),
        ("ktap a done 0\\n", "; the last that it reported is 'ktap a done 0'"),
    ],
)
def test_a_channel_that_closes_early(run_as, said: str, why: str) -> None:
    err = failure(run_as, f"echo '[    0.1] hello' >$1; printf '{said}' >$2")
    assert err.why == f"the guest stopped before it was done{why}"


def test_memory_room() -> None:
    boot.check_memory(BIG, 14 * 1024)
    with pytest.raises(LabError, match=r"needs 13.0 GiB of host memory and 8.0 GiB are free"):
        boot.check_memory(BIG, 8 * 1024)


@pytest.mark.parametrize(
    ("name", "config", "exact", "why"),
    [
        ("arm64", PERF, False, r"it is of arm64, .* config perf is not; give --config arm64"),
        ("tiny", ARM64, False, r"it is of x86_64, .* config arm64 is not; give --config perf"),
        ("arm64", ARM64, True, r"counted on x86_64 only"),
    ],
)
def test_a_kernel_of_another_architecture(name: str, config: Config, exact: bool, why: str) -> None:
    with pytest.raises(LabError, match=why):
        boot.check_config(machine.load(name), config, exact)
    boot.check_config(machine.load("arm64"), ARM64, False)
    boot.check_config(machine.load("tiny"), DEBUG, True)


class TestReport:
    TEXT = (DATA / "patched-three-nodes.log").read_text()
    SAID = (DATA / "patched-three-nodes.guest.log").read_text()

    @classmethod
    def told(cls, text: str, said: str = SAID, **spec: object) -> summary.Report:
        booted = BootSpec(THREE, "patched", **spec)
        accel = EXACT if booted.exact else EMULATED
        clock = watch.HostClock()
        parsed = dmesg.parse(text), channel.Guest(said)
        return summary.describe(boot.BootResult(booted, BUILD, accel, 0, *parsed, clock, 3.2, Path("/b")))

    def test_pages_add_up(self) -> None:
        told = self.told(self.TEXT.replace("42ms, 2 threads", "42ms, 1 threads"))
        pages = told.pages
        assert (pages.machine, pages.present, pages.managed) == (1051392, 1051263, 1016263)
        assert pages.total == 1016263
        assert pages.deferred == 294912 + 491520 + 131072
        assert pages.early == pages.managed - pages.deferred
        assert pages.ok and told.ok

    def test_pages_that_do_not_add_up(self) -> None:
        short = self.told(self.TEXT, self.SAID.replace("managed 188423", "managed 188422"))
        assert not short.pages.ok and not short.ok
        # More deferred than managed.
        assert not self.told(self.TEXT.replace("294912 pages", "2949120 pages")).pages.ok
        silent = self.told(self.TEXT, self.SAID.replace("zone", "bone"))
        assert silent.pages is None and not silent.ok

    def test_too_many_threads(self) -> None:
        # Node 1 has one CPU; the log says two threads.
        told = self.told(self.TEXT)
        assert [node.ok for node in told.threads] == [True, False, True]
        assert not told.ok
        # A node with fewer sections than CPUs has fewer threads.
        for sections, well in ((3, True), (30, False)):
            line = dmesg.NodeLine(0, 1, 0.1, "", pages=sections << 15, threads=3)
            assert summary.Threads(line, 8).ok is well

    def test_exact_mode_counts_instructions(self) -> None:
        told = self.told(self.TEXT, exact=True)
        assert told.instructions_per_page == pytest.approx(50e6 / told.pages.deferred)
        assert told.deferred_ms == 50.0
        assert [node.expected for node in told.threads] == [1, 1, 1]
        # From the trace, if there is one.
        wakings = [
            "init-1 [000] d..1. 300000000: sched_waking: comm=pgdatinit0 pid=31 prio=120 target_cpu=000",
            "pgdatinit0-31 [000] d..1. 332500000: sched_waking: comm=init pid=1 prio=120 target_cpu=000",
        ]
        said = "".join(f"trace  {line}\n" for line in wakings) + self.SAID
        assert self.told(self.TEXT, said, exact=True).deferred_ms == 32.5
        assert self.told(self.TEXT, said).result.deferred_ms == 50.0

    def test_emulated_times_are_the_hosts(self) -> None:
        told = self.told(self.TEXT)
        told.result.clock.feed(b"[    0.0] smpboot: Total of 4 processors activated\n", 10.0)
        told.result.clock.feed(b"[    0.1] node 0 initialised, 5 pages in 0ms\n", 10.5)
        assert told.deferred_ms == 500.0
        assert told.as_dict()["guest_deferred_init_ms"] == 50.0
        assert told.boot_ms is None

    def test_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        summary.show(self.told(self.TEXT))
        assert ", as MemTotal has it: all accounted for" in capsys.readouterr().out
        summary.show(self.told((DATA / "panic.log").read_text(), "trouble kmemleak: 3 objects leaked\n"))
        out = capsys.readouterr().out
        assert "WARNING: CPU: 1" in out and "not accounted for" in out and "3 objects leaked" in out


@pytest.mark.parametrize(
    ("name", "node", "threads", "exact", "expected"),
    [
        ("xeon-8167m", 1, None, False, 52),
        ("xeon-8167m", 0, "12%", False, 6),
        ("xeon-8167m", 0, "1000", False, 52),
        ("xeon-8167m", 0, None, True, 1),
        ("node-without-cpus", 1, None, False, 2),
        ("node-without-cpus", 1, "1", False, 1),
        ("node-without-cpus", 1, None, True, 1),
        ("three-nodes", 2, "100%", False, 1),
        ("arm64", 0, None, False, 2),  # one for each core
        ("arm64", 1, "100%", False, 4),
    ],
)
def test_expected_threads(name: str, node: int, threads: str | None, exact: bool, expected: int) -> None:
    assert summary.expected_threads(machine.load(name), node, threads, exact) == expected


def test_host_clock() -> None:
    clock = watch.HostClock()
    assert clock.deferred_ms is None
    for now, text in (
        (1.0, "SeaBIOS\n[    0.0] Linux ver"),
        (1.1, "sion 6.12\n"),
        (2.0, "[  0.1] smpboot: Total of 4 processors activated (1 BogoMIPS)\n[  0.1] node 0 deferred pages"),
        (2.5, " initialised in 9ms\n"),
        (3.25, "[  0.2] node 1 initialised, 7 pages in 9ms\n[ 0.3] x\n"),
        (4.1, "[  0.4] Run /init as init process\n"),
    ):
        clock.feed(text.encode(), now)
    assert clock.deferred_ms == 1250.0
    assert clock.boot_ms == 3000.0
    clock = watch.HostClock()  # without node lines
    clock.feed(b"smpboot: Total of 1 processors activated\n", 1.0)
    assert clock.deferred_ms == 0.0
