# SPDX-License-Identifier: GPL-2.0-only
"""The report's figures of boots: what they cost, in instructions, and how long they take."""

from __future__ import annotations

from functools import partial
from typing import Any

from padlab.core import paths
from padlab.report import charts, recorded
from padlab.report.charts import Bar, Point
from padlab.report.figure import Chart, Figure, Part, Rows, by_cpu, gathered

GROWTH = ("growth.json", "growth --large")
KERNELS = ("stock", "patched")
MACHINES = ("epyc-7551-kvm-small", "three-nodes")
# Of per_gib in growth.json, in the order in which a boot has them.
PARTS = {
    "struct pages, early": "first struct pages",
    "hash tables": "hash tables",
    "memblock retires": "reserved memory",
    "deferred init": "deferred init",
    "serial rest after it": "serial rest",
    "memory blocks": "memory blocks",
}


def all_figures() -> list[Figure]:
    return [waits(), pages(), parts(), machines(), elapsed()]


def _gib(machine: str) -> int:
    return int(machine.removeprefix("memory-"))


def _ratio(patched: float, stock: float) -> str:
    return f"{patched / stock:.2f}"


def waits() -> Figure:
    """The one that says why."""

    def part(base: str) -> Part:
        growth = recorded.read(base, *GROWTH)
        boots = growth.data["critical_ms"]
        points = [
            Point(kernel, _gib(machine), ms, f"{ms:,.0f}")
            for kernel in KERNELS
            for machine, ms in boots[kernel].items()
        ]
        rows = [
            (base, f"{_gib(machine)} GiB", f"{ms:,.0f}", f"{boots['patched'][machine]:,.0f}",
             _ratio(boots["patched"][machine], ms))
            for machine, ms in boots["stock"].items()
        ]  # fmt: skip
        spec = charts.lines(points, "GiB of memory", "ms of a million instructions")
        return Part((Chart(spec, f"Linux {base}"),), tuple(rows), (growth,))

    return gathered(
        "why",
        "Boot does not wait for memory any more",
        "From the kernel's start to init on one CPU, by guest instructions, beside a driver that sleeps two"
        " seconds, as drivers do that wait for devices. Stock waits for all struct pages, patched does not.",
        ("Linux", "memory", "stock", "patched", "patched / stock"),
        [partial(part, base) for base in paths.bases()],
    )


def pages() -> Figure:
    names = {"a deferred page": "a deferred page", "a page of the lower zones": "a page below 4 GiB"}

    def part(base: str) -> Part:
        growth = recorded.read(base, *GROWTH)
        goals = {goal["name"]: goal for goal in growth.data["goals"]}
        bars, rows = [], []
        for name, shown in names.items():
            stock, patched = goals[name]["stock"], goals[name]["patched"]
            ratio = _ratio(patched, stock)
            bars += [Bar(shown, "stock", stock, f"{stock:.2f}")]
            bars += [Bar(shown, "patched", patched, f"{patched:.2f} ({ratio})")]
            rows.append((base, shown, f"{stock:.2f}", f"{patched:.2f}", ratio))
        spec = charts.bars(bars, "guest instructions (of stock)")
        return Part((Chart(spec, f"Linux {base}"),), tuple(rows), (growth,))

    return gathered(
        "pages",
        "A page costs a third",
        "Guest instructions to initialise a struct page and to free its page, counted in exact mode: they"
        " repeat to the digit.",
        ("Linux", "page", "stock", "patched", "patched / stock"),
        [partial(part, base) for base in paths.bases()],
    )


def parts() -> Figure:
    def part(base: str) -> Part:
        growth = recorded.read(base, *GROWTH)
        per_gib = growth.data["per_gib"]
        bars = [
            Bar(kernel, shown, max(per_gib[kernel][name], 0), f"{per_gib[kernel][name]:.4f}")
            for kernel in KERNELS
            for name, shown in PARTS.items()
        ]
        rows = [
            (base, shown, *(f"{per_gib[kernel][name]:.4f}" for kernel in KERNELS))
            for name, shown in {**PARTS, "whole boot to init": "whole boot to init"}.items()
        ]
        spec = charts.stacked(bars, "million instructions for each GiB")
        return Part((Chart(spec, f"Linux {base}"),), tuple(rows), (growth,))

    return gathered(
        "parts",
        "What a boot costs for each GiB, part by part",
        "Boot waits for deferred init here, so that one part comes after the other. What is not deferred init"
        " is done by one CPU alone.",
        ("Linux", "part", "stock", "patched"),
        [partial(part, base) for base in paths.bases()],
    )


def machines() -> Figure:
    def part(base: str, machine: str) -> Part:
        words = f"compare --machine {machine} --exact"
        compared = recorded.read(base, f"compare-{machine}-exact.json", words)
        bars, rows = [], []
        for figure in compared.data["figures"]:
            stock, patched = figure["stock"]["median"], figure["patched"]["median"]
            ratio, name = _ratio(patched, stock), f"{figure['name']}, {figure['unit']}"
            # Of the largest, so that figures of different units are on one axis.
            bars += [
                Bar(name, "stock", 1, f"{stock:,.2f}"),
                Bar(name, "patched", patched / stock, f"{patched:,.2f} ({ratio})"),
            ]
            rows.append((base, machine, name, f"{stock:,.2f}", f"{patched:,.2f}", ratio))
        spec = charts.bars(bars, "of stock")
        return Part((Chart(spec, f"{machine}, Linux {base}"),), tuple(rows), (compared,))

    return gathered(
        "machines",
        "Stock against patched, by machine",
        "The same instructions on a published VM of 16 GiB, and on three nodes whose memory begins and ends"
        " within blocks.",
        ("Linux", "machine", "figure", "stock", "patched", "patched / stock"),
        [partial(part, base, machine) for base in paths.bases() for machine in _compared(base)],
    )


def _compared(base: str) -> tuple[str, ...]:
    return MACHINES if base == paths.DEFAULT_BASE else MACHINES[:1]


def elapsed() -> Figure:
    ways = {"stock": "stock", "waits at once": "patched, waits", "goes on": "patched"}
    base = paths.DEFAULT_BASE

    def drawn(host: str, data: Any) -> tuple[list[Chart], Rows]:
        made, rows = [], []
        for sleeps, of in data["initcall sleeps"].items():
            points = [
                Point(ways[way], _gib(machine), boots["median"], f"{boots['median']:,.0f}")
                for way, machines in of["boots"].items()
                for machine, boots in machines.items()
            ]
            beside = "a driver sleeps 2 s" if sleeps != "0 ms" else "no driver sleeps"
            made.append(Chart(charts.lines(points, "GiB of memory", "ms"), f"{beside}; {host}"))
            for machine in of["boots"]["stock"]:
                medians = (f"{of['boots'][way][machine]['median']:,.0f}" for way in ways)
                rows.append((host, sleeps, f"{_gib(machine)} GiB", *medians))
        return made, rows

    return gathered(
        "elapsed",
        "The same by the host's clock",
        "From the kernel's start to init on two emulated CPUs that run at the same time, medians of boots in"
        " turns. Emulated times: they show what waits for what, not how fast a machine is.",
        ("host", "a driver sleeps", "memory", "stock, ms", "patched, waits, ms", "patched, ms"),
        [partial(by_cpu, base, "elapsed.json", "growth --elapsed", drawn)],
    )
