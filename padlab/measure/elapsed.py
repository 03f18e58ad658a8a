# SPDX-License-Identifier: GPL-2.0-only
"""``./lab growth --elapsed``: how much longer a boot takes for each GiB, if it waits for struct pages or not.

Machines of one node with two CPUs, which have to run at the same time, are booted by stock, by
ours with deferred_init=sync, and by ours: in turns, so that drift of the host meets all of them.
Times are the host's, from the kernel's first message to init.  They are of an emulated guest as a
rule: what counts is the ratio between two of them.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from padlab.core import host, stats, table
from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.kernel.build import Build
from padlab.measure import provenance
from padlab.vm import accel as accels
from padlab.vm import boot, emulator
from padlab.vm import machine as machines
from padlab.vm.accel import Accel
from padlab.vm.machine import Machine

SIZES_GIB = (16, 64, 256)
ROUNDS = 9
CPUS = 2
# Of what boot takes for each GiB if it waits at once.
MAX_OF_WAITING = 0.6

_WHAT = "elapsed times of boots"


@dataclass(frozen=True)
class Way:
    """A kernel, and whether it waits for deferred init before it starts drivers."""

    name: str
    kernel: str
    sync: bool


WAITING, BESIDE = "waits at once", "goes on"
WAYS = (Way("stock", "stock", False), Way(WAITING, "patched", True), Way(BESIDE, "patched", False))


@dataclass(frozen=True)
class Elapsed:
    """Milliseconds from the kernel's start to init, by way and GiB."""

    ms: Mapping[str, Mapping[int, tuple[float, ...]]]
    accel: Accel

    def summary(self, way: str, gib: int) -> stats.Summary:
        return stats.summarize(self.ms[way][gib])

    def per_gib(self, way: str) -> float:
        """By the medians of the least and the most memory."""
        least, most = min(SIZES_GIB), max(SIZES_GIB)
        return (self.summary(way, most).median - self.summary(way, least).median) / (most - least)

    @property
    def ratio(self) -> float:
        """What is left of each GiB's time if boot goes on."""
        waiting = self.per_gib(WAITING)
        return self.per_gib(BESIDE) / waiting if waiting > 0 else float("nan")

    @property
    def ok(self) -> bool:
        return self.ratio <= MAX_OF_WAITING


def machine(gib: int) -> Machine:
    """One node with that much memory and two CPUs."""
    found = machines.load(f"memory-{gib}")
    return replace(found, nodes=(replace(found.nodes[0], cpus=CPUS),))


def check_parallel(accel: Accel) -> None:
    """An error if the guest's CPUs take turns: nothing then goes on beside anything."""
    if accel.parallel or not accel.emulated:
        return
    raise LabError(
        _WHAT,
        f"QEMU {accel.qemu} runs emulated CPUs one after another",
        f"install 8.1 or later (./lab boot says how), or name one in {emulator.OVERRIDE}",
    )


def measure(ready: Mapping[str, boot.Ready], rounds: int = ROUNDS) -> Elapsed:
    """Boot each size in each way, that many times over, after one boot of each way that does not count."""
    taken: dict[str, dict[int, list[float]]] = {way.name: {gib: [] for gib in SIZES_GIB} for way in WAYS}
    for way in WAYS:
        _boot(ready, way, SIZES_GIB[0], "warm-up")
    for number in range(rounds):
        for gib in SIZES_GIB:
            for way in WAYS:
                label = f"{way.name}, round {number + 1} of {rounds}"
                ms, accel = _boot(ready, way, gib, label)
                taken[way.name][gib].append(ms)
    return Elapsed({way: {gib: tuple(ms) for gib, ms in of.items()} for way, of in taken.items()}, accel)


def _boot(ready: Mapping[str, boot.Ready], way: Way, gib: int, label: str) -> tuple[float, Accel]:
    build, initrd = ready[way.kernel]
    spec = boot.BootSpec(machine(gib), way.kernel, build.config, sync=way.sync, initrd=initrd)
    result = boot.boot(spec, build, label)
    ms, waited = result.clock.boot_ms, result.dmesg.waited
    if ms is None or (waited is not None) != (way.name == BESIDE):
        why = f"{way.kernel} on {spec.machine.name} did not say what a boot that {way.name} says"
        raise LabError(_WHAT, why, "see the console", log=result.log)
    return ms, result.accel


def main(json: bool = False) -> int:
    """Measure, show, record.  The exit status is 1 if what is left is more than the goal."""
    with boot.quiet_stdout():
        check_parallel(accels.choose(emulator.ensure(), exact=False))
        boot.check_memory(machine(max(SIZES_GIB)), host.free_mib())
        ready = {kernel: boot.prepare(kernel) for kernel in ("stock", "patched")}
        found = measure(ready)
    build = ready["patched"][0]
    path = provenance.path_of("elapsed.json")
    provenance.write_json(path, as_dict(found, build))
    if json:
        print(jsonlib.dumps(as_dict(found, build), indent=2))
    else:
        show(found, build)
        table.console().print(f"recorded in {path}", markup=False, soft_wrap=True)
    return 0 if found.ok else 1


def show(found: Elapsed, build: Build) -> None:
    console = table.console()
    console.print(
        f"[bold]elapsed[/]: kernel's start to init by the host's clock, ms, median (least to most) of"
        f" {found.summary(BESIDE, SIZES_GIB[0]).n}; one node, {CPUS} CPUs;"
        f" {source.described(build.source_version)}"
    )
    grid = table.grid(("boot", *(f"{gib} GiB" for gib in SIZES_GIB), "ms a GiB"), left={"boot"})
    for way in WAYS:
        told = [found.summary(way.name, gib) for gib in SIZES_GIB]
        cells = [f"{one.median:,.0f} ({one.low:,.0f} to {one.high:,.0f})" for one in told]
        grid.add_row(way.name, *cells, f"{found.per_gib(way.name):.2f}")
    console.print(grid)
    verdict = "[green]ok[/]" if found.ok else "[red]not reached[/]"
    console.print(
        f"a GiB of a boot that {BESIDE}, of one that {WAITING}: {found.ratio:.3f},"
        f" at most {MAX_OF_WAITING}: {verdict}"
    )


def as_dict(found: Elapsed, build: Build) -> dict[str, Any]:
    """For --json and for results/."""
    return {
        **provenance.provenance("./lab growth --elapsed", build, found.accel),
        "unit": "ms from the kernel's start to init, by the host's clock",
        "cpus": CPUS,
        "ratio": found.ratio,
        "limit": MAX_OF_WAITING,
        "ok": found.ok,
        "ms_per_gib": {way.name: found.per_gib(way.name) for way in WAYS},
        "boots": {
            way.name: {
                f"memory-{gib}": {**asdict(found.summary(way.name, gib)), "all": found.ms[way.name][gib]}
                for gib in SIZES_GIB
            }
            for way in WAYS
        },
    }
