# SPDX-License-Identifier: GPL-2.0-only
"""Machines as QEMU arguments."""

from pathlib import Path

import pytest

from padlab import accel, machine, qemu

KERNEL, INITRD = Path("/k/bzImage"), Path("/k/init.cpio")


def command(name: str, **kwargs: object) -> list[str]:
    return qemu.command(machine.load(name), kernel=KERNEL, initrd=INITRD, **kwargs)


def values(args: list[str], option: str) -> list[str]:
    """The values of every occurrence of an option."""
    return [value for key, value in zip(args, args[1:], strict=False) if key == option]


def test_largest_published() -> None:
    args = command("xeon-8167m")
    assert values(args, "-smp") == ["104,sockets=2,cores=26,threads=2"]
    assert values(args, "-m") == ["786432M"]
    assert values(args, "-object") == [
        "memory-backend-ram,id=mem0,size=393216M,reserve=off",
        "memory-backend-ram,id=mem1,size=393216M,reserve=off",
    ]
    assert values(args, "-numa") == [
        "node,nodeid=0,memdev=mem0",
        "node,nodeid=1,memdev=mem1",
        "cpu,node-id=0,socket-id=0",
        "cpu,node-id=1,socket-id=1",
    ]


def test_uneven_nodes_have_a_socket_per_core() -> None:
    args = command("three-nodes")
    assert values(args, "-smp") == ["4,sockets=4,cores=1,threads=1"]
    assert values(args, "-numa")[3:] == [
        "cpu,node-id=0,socket-id=0",
        "cpu,node-id=0,socket-id=1",
        "cpu,node-id=1,socket-id=2",
        "cpu,node-id=2,socket-id=3",
    ]


def test_node_without_cpus() -> None:
    args = command("node-without-cpus")
    assert values(args, "-smp") == ["2,sockets=1,cores=2,threads=1"]
    assert values(args, "-numa") == [
        "node,nodeid=0,memdev=mem0",
        "node,nodeid=1,memdev=mem1",
        "cpu,node-id=0,socket-id=0",
    ]


@pytest.mark.parametrize("name", machine.names())
def test_every_cpu_and_byte_is_placed(name: str) -> None:
    made, args = machine.load(name), command(name)
    total, *topology = values(args, "-smp")[0].split(",")
    sockets, cores, threads = (int(part.split("=")[1]) for part in topology)
    assert int(total) == made.cpus == sockets * cores * threads
    placed = [v for v in values(args, "-numa") if v.startswith("cpu,")]
    assert [int(v.split("socket-id=")[1]) for v in placed] == list(range(sockets))
    for i, node in enumerate(made.nodes):
        on_node = sum(f"node-id={i}," in v for v in placed)
        assert on_node * cores * threads == node.cpus
    assert values(args, "-m")[0].split(",")[0] == f"{sum(node.mib for node in made.nodes)}M"


def test_dimms_are_in_slots() -> None:
    args = command("dimms")
    assert values(args, "-m") == ["2048M,slots=2,maxmem=5760M"]
    assert values(args, "-object")[2:] == [
        "memory-backend-ram,id=dimm0,size=1024M,reserve=off",
        "memory-backend-ram,id=dimm1,size=640M,reserve=off",
    ]
    assert values(args, "-device") == [
        "pc-dimm,id=slot0,memdev=dimm0,node=0",
        "pc-dimm,id=slot1,memdev=dimm1,node=1",
    ]
    assert not values(command("tiny"), "-device")


@pytest.mark.parametrize("name", machine.names())
def test_exact_mode_is_one_cpu_and_all_memory(name: str) -> None:
    args = command(name, exact=True)
    assert values(args, "-smp") == ["1"]
    assert values(args, "-icount") == ["shift=0,sleep=off"]
    assert values(args, "-accel")[0].startswith("tcg,thread=single")
    assert values(args, "-object") == values(command(name), "-object")
    assert [v for v in values(args, "-numa") if v.startswith("cpu,")] == ["cpu,node-id=0,socket-id=0"]


def test_exact_mode_finds_the_first_node_with_cpus() -> None:
    odd = machine.Machine("x", "d", "odd", (machine.Node(1024, 0), machine.Node(1024, 2)))
    args = qemu.command(odd, kernel=KERNEL, initrd=None, exact=True)
    assert values(args, "-numa")[-1] == "cpu,node-id=1,socket-id=0"
    assert "-initrd" not in args


def test_kernel_arguments() -> None:
    (tcg,) = values(command("holes", append=["deferred_init_threads=50%"]), "-append")
    words = tcg.split()
    assert words[0] == "console=ttyS0"
    assert {"panic=-1", "lpj=4000000", "tsc=reliable", "no_timer_check"} <= set(words)
    assert "memmap=128M$0x158000000" in words
    assert words[-1] == "deferred_init_threads=50%"


def test_kvm_calibrates_its_own_timers() -> None:
    args = command("one-cpu", accel="kvm")
    assert values(args, "-accel") == ["kvm"]
    assert "tsc=reliable" not in values(args, "-append")[0]


def test_crowds_share_a_timer() -> None:
    assert "nolapic_timer" in values(command("xeon-8167m"), "-append")[0]
    for name, kwargs in (("smt-numa", {}), ("xeon-8167m", {"exact": True}), ("xeon-8167m", {"accel": "kvm"})):
        assert "nolapic_timer" not in values(command(name, **kwargs), "-append")[0]


def test_exact_mode_is_emulated_whatever_the_host_has() -> None:
    args = command("one-cpu", accel="kvm", exact=True)
    assert "kvm" not in values(args, "-accel")[0]
    assert {"tsc=reliable", "nokaslr"} <= set(values(args, "-append")[0].split())


def test_console() -> None:
    assert values(command("tiny"), "-serial") == ["stdio"]
    assert values(command("tiny", serial=Path("/tmp/log")), "-serial") == ["file:/tmp/log"]
    assert {"-no-reboot", "-nodefaults"} <= set(command("tiny"))


def test_a_thread_per_cpu_where_qemu_can_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, threads in (
        ("7.2.22", "single"),
        ("8.0.5", "single"),
        ("8.1.0", "multi"),
        ("10.0", "multi"),
    ):
        monkeypatch.setattr(accel, "qemu_version", lambda version=version: version)
        assert accel.tcg_threads() == threads
    assert values(command("tiny", tcg_threads="multi"), "-accel")[0].startswith("tcg,thread=multi")
    assert values(command("tiny", tcg_threads="multi", exact=True), "-accel")[0].startswith(
        "tcg,thread=single"
    )


class TestAccel:
    """The choice of accelerator, without QEMU."""

    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(accel, "CACHE", tmp_path / "probe.json")
        monkeypatch.setattr(accel, "KVM", tmp_path / "kvm")
        self.probes: list[str] = []

    def probe(self, monkeypatch: pytest.MonkeyPatch, kvm: float | None, tcg: float | None = 0.2) -> None:
        def fake(name: str) -> float | None:
            self.probes.append(name)
            return {"kvm": kvm, "tcg": tcg}[name]

        monkeypatch.setattr(accel, "probe", fake)

    def test_no_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.probe(monkeypatch, 0.2)
        assert accel.choose() == "tcg"
        assert "there is no /dev/kvm" in accel.why()
        assert self.probes == []

    @pytest.mark.parametrize(
        ("kvm", "tcg", "chosen"),
        [(0.2, 0.2, "kvm"), (0.4, 0.05, "kvm"), (0.9, None, "kvm"), (None, 0.2, "tcg"), (1.7, 0.12, "tcg")],
    )
    def test_probed_once(
        self, monkeypatch: pytest.MonkeyPatch, kvm: float | None, tcg: float | None, chosen: str
    ) -> None:
        accel.KVM.touch()
        self.probe(monkeypatch, kvm, tcg)
        assert [accel.choose(), accel.choose()] == [chosen, chosen]
        assert self.probes == (["kvm", "tcg"] if kvm else ["kvm"])
        assert ("no guest gets anywhere under it" in accel.why()) is (chosen == "tcg")

    @pytest.mark.parametrize("junk", ["", "{}", '{"host_boot": "another boot", "kvm": true}', "[1]"])
    def test_a_stale_or_broken_answer_is_asked_again(
        self, monkeypatch: pytest.MonkeyPatch, junk: str
    ) -> None:
        accel.KVM.touch()
        accel.CACHE.write_text(junk)
        self.probe(monkeypatch, None)
        assert accel.choose() == "tcg"
        assert self.probes == ["kvm"]
