# SPDX-License-Identifier: GPL-2.0-only
"""Machines as QEMU arguments."""

import itertools
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.kernel.arch import ARM64, X86_64
from padlab.vm import accel, emulator, machine, qemu
from padlab.vm.spec import BootSpec
from tests.conftest import write

QEMU = Path("/usr/bin/qemu")
KERNEL = Path("/k/bzImage")
PORTS = qemu.Ports("file:/tmp/log", "file:/tmp/guest")

TCG = accel.Accel("tcg", "TCG", "7.2.22", "single")
KVM = accel.Accel("kvm", "KVM", "10.0")
EXACT = accel.Accel("tcg", "TCG", "10.0", "single", exact=True)
_PLAIN = {name: loaded for name in machine.names() if "-smp" not in (loaded := machine.load(name)).qemu}
X86 = [name for name, loaded in _PLAIN.items() if not loaded.arch.foreign]


def command(
    target: str | machine.Machine, under: accel.Accel = TCG, ports: qemu.Ports = PORTS, **spec: object
) -> list[str]:
    target = machine.load(target) if isinstance(target, str) else target
    return qemu.command(BootSpec(target, "patched", **spec), KERNEL, QEMU, under, ports)


def values(args: list[str], option: str) -> list[str]:
    return [value for key, value in itertools.pairwise(args) if key == option]


def ram(**mib: int) -> str:
    return " ".join(f"memory-backend-ram,id={name},size={size}M,reserve=off" for name, size in mib.items())


NODES = "node,nodeid=0,memdev=mem0 node,nodeid=1,memdev=mem1"


@pytest.mark.parametrize(
    ("name", "option", "expected"),
    [
        ("xeon-8167m", "-smp", "104,sockets=2,cores=26,threads=2"),
        ("xeon-8167m", "-m", "786432M"),
        ("xeon-8167m", "-object", ram(mem0=393216, mem1=393216)),
        ("xeon-8167m", "-numa", f"{NODES} cpu,node-id=0,socket-id=0 cpu,node-id=1,socket-id=1"),
        ("dimms", "-m", "2048M,slots=2,maxmem=5760M"),
        ("dimms", "-object", ram(mem0=1024, mem1=1024, dimm0=1024, dimm1=640)),
        ("dimms", "-device", "pc-dimm,id=slot0,memdev=dimm0,node=0 pc-dimm,id=slot1,memdev=dimm1,node=1"),
        # A node without memory, but for a DIMM's.
        ("late-node", "-numa", f"{NODES} node,nodeid=2 {{CPUS}}"),
        ("late-node", "-m", "4096M,slots=1,maxmem=5248M"),
        ("late-node", "-object", ram(mem0=2048, mem1=2048, dimm0=128)),
        ("tiny", "-serial", "file:/tmp/log file:/tmp/guest"),
        *(("tiny", option, "") for option in ("-bios", "-device", "-chardev", "-mon")),
        ("efi-2", "-machine", "q35"),
        ("efi-2", "-bios", qemu.OVMF),
        ("efi-2", "-kernel", str(KERNEL)),
        ("arm64", "-machine", "virt,gic-version=3"),
        ("arm64", "-cpu", "neoverse-n1"),
        ("arm64", "-smp", "8,sockets=2,cores=2,threads=2"),
        ("arm64", "-m", "4096M"),
        ("arm64", "-object", ram(mem0=2048, mem1=2048)),
        ("arm64", "-numa", "node,nodeid=0,cpus=0-3,memdev=mem0 node,nodeid=1,cpus=4-7,memdev=mem1"),
        # The guest's programs have the second port of a card.
        ("arm64", "-serial", "file:/tmp/log"),
        ("arm64", "-chardev", "null,id=unused file,id=channel,path=/tmp/guest"),
        ("arm64", "-device", "pci-serial-2x,chardev1=unused,chardev2=channel"),
        ("s390x", "-machine", "s390-ccw-virtio,memory-backend=mem0"),
        ("s390x", "-object", ram(mem0=4096)),
        ("s390x", "-numa", ""),
        # They have the first port, which is a terminal.
        ("s390x", "-serial", "file:/tmp/guest file:/tmp/log"),
    ],
)
def test_options_of_machines(name: str, option: str, expected: str) -> None:
    args = values(command(name), option)
    cpus = " ".join(arg for arg in args if arg.startswith("cpu,"))
    assert " ".join(args) == expected.replace("{CPUS}", cpus)


def test_distances_are_those_of_the_file() -> None:
    distances = [value for value in values(command("far-node"), "-numa") if value.startswith("dist,")]
    assert len(distances) == 9
    assert {"dist,src=0,dst=2,val=40", "dist,src=1,dst=1,val=10"} <= set(distances)


@pytest.mark.parametrize("name", X86)
def test_every_cpu_and_byte_is_placed(name: str) -> None:
    loaded, args = machine.load(name), command(name)
    total, *topology = values(args, "-smp")[0].split(",")
    sockets, cores, threads = (int(part.split("=")[1]) for part in topology)
    assert int(total) == loaded.cpus == sockets * cores * threads
    placed = [value for value in values(args, "-numa") if value.startswith("cpu,")]
    assert [int(value.split("socket-id=")[1]) for value in placed] == list(range(sockets))
    for i, node in enumerate(loaded.nodes):
        assert sum(f"node-id={i}," in value for value in placed) * cores * threads == node.cpus
    assert values(args, "-m")[0].split(",")[0] == f"{loaded.mib}M"


@pytest.mark.parametrize("name", X86)
def test_exact_mode_is_one_cpu_and_all_memory(name: str) -> None:
    args = command(name, EXACT)
    assert values(args, "-smp") == ["1"]
    assert values(args, "-icount") == ["shift=0,sleep=off"]
    assert values(args, "-accel")[0].startswith("tcg,thread=single")
    assert values(args, "-object") == values(command(name), "-object")
    assert [v for v in values(args, "-numa") if v.startswith("cpu,")] == ["cpu,node-id=0,socket-id=0"]


def test_odd_nodes() -> None:
    """The one CPU of exact mode is on the first node that has any."""
    no_cpus = (machine.Node(1024, 0), machine.Node(1024, 2))
    on_arm = (machine.Node(1024, 2), machine.Node(1024, 0), machine.Node(0, 1))
    exact, arm = (
        command(
            machine.Machine(description="d", kind="odd", nodes=nodes, arch_name=arch.name), accel, initrd=None
        )
        for nodes, arch, accel in ((no_cpus, X86_64, EXACT), (on_arm, ARM64, TCG))
    )
    assert values(exact, "-numa")[-1] == "cpu,node-id=1,socket-id=0" and "-initrd" not in exact
    assert values(arm, "-numa") == [
        "node,nodeid=0,cpus=0-1,memdev=mem0",
        "node,nodeid=1,memdev=mem1",
        "node,nodeid=2,cpus=2-2",
    ]


@pytest.mark.parametrize(
    ("name", "under", "has", "has_not"),
    [
        ("holes", TCG, "panic=-1 lpj=4000000 tsc=reliable no_timer_check memmap=128M$0x158000000", "nokaslr"),
        ("one-cpu", EXACT, "tsc=reliable nokaslr", "nolapic_timer"),
        ("one-cpu", KVM, "panic=-1", "tsc=reliable"),  # it calibrates its own timers
        ("xeon-8167m", TCG, "nolapic_timer", "nokaslr"),  # crowds share a timer
        ("smt-numa", TCG, "tsc=reliable", "nolapic_timer"),
        ("xeon-8167m", EXACT, "nokaslr", "nolapic_timer"),
        ("xeon-8167m", KVM, "panic=-1", "nolapic_timer"),
        ("arm64", TCG, "panic=-1", "tsc=reliable no_timer_check"),
        ("s390x", TCG, "panic=-1", "tsc=reliable no_timer_check"),
    ],
)
def test_kernel_arguments(name: str, under: accel.Accel, has: str, has_not: str) -> None:
    (line,) = values(command(name, under, threads="50%"), "-append")
    first, *words, last = line.split()
    assert first == ("console=ttyAMA0" if name == "arm64" else "console=ttyS0")
    assert last == "deferred_init_threads=50%"
    assert set(has.split()) <= set(words) and not set(has_not.split()) & set(words)
    # No guest reports a stall because its host is busy.
    assert {"rcupdate.rcu_cpu_stall_timeout=300", "workqueue.watchdog_thresh=300"} <= set(words)


def test_a_guest_may_have_the_monitor_and_what_else_its_machine_says() -> None:
    args = command("users", ports=qemu.Ports(monitor="name"))
    monitor, guest = values(args, "-chardev")
    assert monitor == "socket,id=monitor,server=on,wait=off,path=name,abstract=on"
    assert guest == "socket,id=guest,path=name,abstract=on"
    devices = values(args, "-device")
    assert any(device.startswith("isa-serial,chardev=guest,index=2,") for device in devices)
    assert any(device.startswith("virtio-mem-pci,") for device in devices)


def test_flags() -> None:
    assert {"-no-reboot", "-nodefaults"} <= set(command("tiny"))
    assert values(command("tiny", initrd=Path("/i.cpio")), "-initrd") == ["/i.cpio"]
    assert {"-s", "-S"} <= set(command("tiny", gdb=True))
    assert not {"-s", "-S"} & set(command("tiny"))
    assert values(command("one-cpu", KVM), "-accel") == ["kvm"]
    assert values(command("arm64", ports=qemu.Ports()), "-chardev")[1] == "null,id=channel"


class TestAccel:
    """The choice of accelerator, without QEMU."""

    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.probes: list[str] = []
        self.seconds: dict[str, float | None] = {"kvm": 0.2, "tcg": 0.2}

        def probe(_qemu: Path, name: str) -> float | None:
            self.probes.append(name)
            return self.seconds[name]

        monkeypatch.setattr(accel, "CACHE", tmp_path / "probe.json")
        monkeypatch.setattr(accel, "KVM", tmp_path / "kvm")
        monkeypatch.setattr(accel, "probe", probe)
        monkeypatch.setattr(emulator, "version", lambda _qemu: "7.2.22")

    def test_no_device(self) -> None:
        chosen = accel.choose(QEMU)
        assert chosen == accel.Accel("tcg", "TCG, emulated (there is no /dev/kvm)", "7.2.22", "single")
        assert self.probes == []

    @pytest.mark.parametrize(
        ("kvm", "tcg", "chosen"),
        [(0.2, 0.2, "kvm"), (0.4, 0.05, "kvm"), (0.9, None, "kvm"), (None, 0.2, "tcg"), (1.7, 0.12, "tcg")],
    )
    def test_probed_once(self, kvm: float | None, tcg: float | None, chosen: str) -> None:
        accel.KVM.touch()
        self.seconds = {"kvm": kvm, "tcg": tcg}
        first, again = accel.choose(QEMU), accel.choose(QEMU)
        assert (first.name, again) == (chosen, first)
        assert self.probes == (["kvm", "tcg"] if kvm else ["kvm"])
        assert ("no guest gets anywhere under it" in first.why) is (chosen == "tcg")

    def test_what_is_emulated_whatever_the_host_has(self) -> None:
        accel.KVM.touch()
        exact, foreign = accel.choose(QEMU, exact=True), accel.choose(QEMU, arch=ARM64)
        assert (exact.name, exact.threads, exact.exact, exact.emulated) == ("tcg", "single", True, False)
        assert (foreign.name, foreign.threads, foreign.exact) == ("tcg", "single", False)
        assert self.probes == []

    @pytest.mark.parametrize(("version", "threads"), [("8.0.5", "single"), ("8.1.0", "multi")])
    def test_a_thread_per_cpu_where_qemu_can_be_trusted(
        self, monkeypatch: pytest.MonkeyPatch, version: str, threads: str
    ) -> None:
        monkeypatch.setattr(emulator, "version", lambda _qemu: version)
        chosen = accel.choose(QEMU)
        assert (chosen.threads, chosen.parallel) == (threads, threads == "multi")
        assert f"tcg,thread={threads}," in values(command("tiny", chosen), "-accel")[0]

    @pytest.mark.parametrize("junk", ["", "{}", '{"host_boot": "another boot", "kvm": true}', "[1]"])
    def test_a_stale_or_broken_answer_is_asked_again(self, junk: str) -> None:
        accel.KVM.touch()
        accel.CACHE.write_text(junk)
        self.seconds["kvm"] = None
        assert accel.choose(QEMU).name == "tcg"
        assert self.probes == ["kvm"]


class TestWhichQemu:
    """Which QEMU is used, with shell scripts in its place."""

    @pytest.fixture(autouse=True)
    def not_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(emulator.OVERRIDE, raising=False)

    @staticmethod
    def fake(folder: Path, version: str, name: str = emulator.NAME) -> Path:
        write(folder / name, f"#!/bin/sh\necho 'QEMU emulator version {version} (Debian 1:x)'\n", 0o755)
        return folder / name

    def test_the_newest_in_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        versions = {"a": "7.2.22", "b": "10.0.2", "c": "10.0.2"}
        old, new, _same = (self.fake(tmp_path / name, version) for name, version in versions.items())
        for_arm = self.fake(tmp_path / "c", "10.0", emulator.NAMES[ARM64])
        monkeypatch.setenv("PATH", ":".join(str(tmp_path / name) for name in versions))
        assert emulator.find() == new
        assert emulator.version(old) == "7.2.22"
        monkeypatch.setenv(emulator.OVERRIDE, str(old))
        assert emulator.find() == emulator.ensure() == old
        assert emulator.find(ARM64) == for_arm  # arm64 has its own

    def test_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert emulator.find() is None
        monkeypatch.setenv(emulator.OVERRIDE, str(tmp_path / "no-qemu"))
        with pytest.raises(LabError, match="PADLAB_QEMU.*there is no such program"):
            emulator.find()

    @pytest.mark.parametrize("text", ["#!/bin/sh\necho hello\n", "#!/no/such/shell\n"])
    def test_something_else(self, tmp_path: Path, text: str) -> None:
        path = self.fake(tmp_path / "x", "1")
        path.write_text(text)
        with pytest.raises(LabError, match="does not (say its version|start)"):
            emulator.version(path)

    def test_what_an_old_one_cannot_do_is_said_once(self, capsys: pytest.CaptureFixture[str]) -> None:
        for _ in range(3):
            emulator.note_old("7.2.99")
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "QEMU 7.2.99 runs emulated CPUs one after another" in said and "backports" in said
        assert not emulator.is_parallel("7.2.22") and emulator.is_parallel("8.1")
