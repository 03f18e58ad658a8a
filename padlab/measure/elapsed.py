# SPDX-License-Identifier: GPL-2.0-only
"""``./lab growth --elapsed``: how much longer a boot takes for each GiB, if it waits for struct pages or not.

Machines of one node with two CPUs, which have to run at the same time, are booted by stock, by
ours with deferred_init=sync, and by ours: in turns, so that drift of the host meets all of them.
Times are the host's, from the kernel's first message to init.  They are of an emulated guest as a
rule: what counts is the ratio between two of them.

All boots have their memory in one file that is nowhere but in memory, and a first boot of each
way does not count.  Else most of the time is the host's, which finds and zeroes pages for the
guest's memmap: up to ten times as long from one boot to the next.

Jobs use the CPUs that boot does not.  Emulated drivers answer at once, so that there is little of
that: as long as initcalls take, one of two CPUs, which is a fraction of what the jobs take.
Hence there is a second set of boots with an initcall that sleeps, as those of devices do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from padlab.core import host, stats, table
from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.kernel.build import Build
from padlab.measure import growth, provenance
from padlab.vm import accel as accels
from padlab.vm import boot, emulator
from padlab.vm import machine as machines
from padlab.vm.accel import Accel
from padlab.vm.machine import Machine

SIZES_GIB = (16, 64, 256)
ROUNDS = 9
CPUS = 2
SLEEPS_MS = (0, growth.SLEEP_MS)
# Of what boot takes for each GiB if it waits at once, beside an initcall that sleeps.
MAX_OF_WAITING = 0.6
# So that the same pages of the guest are used in each boot.
APPEND = ("nokaslr",)

_WHAT = "elapsed times of boots"


@dataclass(frozen=True)
class Way:
    """A kernel, and whether it waits for deferred init before it starts drivers."""

    name: str
    kernel: str
    sync: bool


WAITING, BESIDE = "waits at once", "goes on"
WAYS = (Way("stock", "stock", False), Way(WAITING, "patched", True), Way(BESIDE, "patched", False))


# How long an initcall sleeps, the way, GiB.
Key = tuple[int, str, int]


@dataclass(frozen=True)
class Elapsed:
    """Milliseconds from the kernel's start to init."""

    ms: Mapping[Key, tuple[float, ...]]
    accel: Accel

    def summary(self, sleep_ms: int, way: str, gib: int) -> stats.Summary:
        return stats.summarize(self.ms[sleep_ms, way, gib])

    def per_gib(self, sleep_ms: int, way: str) -> float:
        """By the medians of the least and the most memory."""
        least, most = (self.summary(sleep_ms, way, of(SIZES_GIB)).median for of in (min, max))
        return (most - least) / (max(SIZES_GIB) - min(SIZES_GIB))

    def ratio(self, sleep_ms: int) -> float:
        """What is left of each GiB's time if boot goes on."""
        waiting = self.per_gib(sleep_ms, WAITING)
        return self.per_gib(sleep_ms, BESIDE) / waiting if waiting > 0 else float("nan")

    @property
    def ok(self) -> bool:
        return self.ratio(growth.SLEEP_MS) <= MAX_OF_WAITING


def machine(gib: int) -> Machine:
    """One node with that much memory and two CPUs."""
    small = machines.load(f"memory-{gib}")
    return replace(small, nodes=(replace(small.nodes[0], cpus=CPUS),))


def check_parallel(accel: Accel) -> None:
    """An error if the guest's CPUs take turns: nothing then goes on beside anything."""
    if accel.parallel:
        return
    raise LabError(
        _WHAT,
        f"QEMU {accel.qemu} runs emulated CPUs one after another",
        f"install 8.1 or later (./lab boot says how), or name one in {emulator.OVERRIDE}",
    )


@contextmanager
def shared_memory() -> Iterator[Path]:
    """A file for the memory of guests, one after the other.  The host has it as long as this lasts."""
    fd = os.memfd_create("guest")
    try:
        os.ftruncate(fd, max(SIZES_GIB) << 30)
        yield Path(f"/proc/{os.getpid()}/fd/{fd}")
    finally:
        os.close(fd)


def measure(ready: Mapping[str, boot.Ready], rounds: int = ROUNDS) -> Elapsed:
    """Boot each size in each way, that many times over."""
    taken: dict[Key, list[float]] = {}
    with shared_memory() as memory:
        for way in WAYS:
            _boot(ready, way, max(SIZES_GIB), 0, memory, "warm-up")
        for number in range(rounds):
            for sleep_ms in SLEEPS_MS:
                for gib in SIZES_GIB:
                    for way in WAYS:
                        label = f"{way.name}, round {number + 1} of {rounds}"
                        ms, accel = _boot(ready, way, gib, sleep_ms, memory, label)
                        taken.setdefault((sleep_ms, way.name, gib), []).append(ms)
    return Elapsed({key: tuple(ms) for key, ms in taken.items()}, accel)


def _boot(
    ready: Mapping[str, boot.Ready], way: Way, gib: int, sleep_ms: int, memory: Path, label: str
) -> tuple[float, Accel]:
    build, initrd = ready[way.kernel]
    append = (*APPEND, f"test_sleep={sleep_ms}") if sleep_ms else APPEND
    kernel = growth.SLEEPING[way.kernel]
    spec = boot.BootSpec(
        machine(gib), kernel, build.config, sync=way.sync, append=append, initrd=initrd, memory=memory
    )
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
        ready = growth.prepare_sleeping()
        elapsed = measure(ready)
    build = ready["patched"][0]
    provenance.record("elapsed.json", as_dict(elapsed, build), json, partial(show, elapsed, build))
    return 0 if elapsed.ok else 1


def show(elapsed: Elapsed, build: Build) -> None:
    console = table.console()
    console.print(
        f"[bold]elapsed[/]: kernel's start to init by the host's clock, ms, median (least to most) of"
        f" {elapsed.summary(0, BESIDE, SIZES_GIB[0]).n}; one node, {CPUS} CPUs;"
        f" {source.described(build.source_version)}"
    )
    names = ("an initcall sleeps", "boot")
    grid = table.grid((*names, *(f"{gib} GiB" for gib in SIZES_GIB), "ms a GiB", "ratio"), left=set(names))
    for sleep_ms in SLEEPS_MS:
        for way in WAYS:
            told = [elapsed.summary(sleep_ms, way.name, gib) for gib in SIZES_GIB]
            cells = [f"{summary.median:,.0f} ({summary.low:,.0f} to {summary.high:,.0f})" for summary in told]
            ratio = f"{elapsed.ratio(sleep_ms):.3f}" if way.name == BESIDE else ""
            per_gib = f"{elapsed.per_gib(sleep_ms, way.name):.2f}"
            grid.add_row(f"{sleep_ms} ms", way.name, *cells, per_gib, ratio)
    console.print(grid)
    verdict = "[green]ok[/]" if elapsed.ok else "[red]not reached[/]"
    console.print(
        f"a GiB of a boot that {BESIDE} beside a sleeping initcall, of one that {WAITING}:"
        f" {elapsed.ratio(growth.SLEEP_MS):.3f}, at most {MAX_OF_WAITING}: {verdict}"
    )


def as_dict(elapsed: Elapsed, build: Build) -> dict[str, Any]:
    """For --json and for results/."""

    def boots(sleep_ms: int, way: str) -> dict[str, Any]:
        summaries = {gib: elapsed.summary(sleep_ms, way, gib) for gib in SIZES_GIB}
        return {
            f"memory-{gib}": {**asdict(summary), "all": elapsed.ms[sleep_ms, way, gib]}
            for gib, summary in summaries.items()
        }

    return {
        **provenance.provenance("./lab growth --elapsed", build, elapsed.accel),
        "unit": "ms from the kernel's start to init, by the host's clock",
        "cpus": CPUS,
        "limit": MAX_OF_WAITING,
        "ok": elapsed.ok,
        "initcall sleeps": {
            f"{sleep_ms} ms": {
                "ratio": elapsed.ratio(sleep_ms),
                "ms_per_gib": {way.name: elapsed.per_gib(sleep_ms, way.name) for way in WAYS},
                "boots": {way.name: boots(sleep_ms, way.name) for way in WAYS},
            }
            for sleep_ms in SLEEPS_MS
        },
    }
