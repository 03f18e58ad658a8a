# SPDX-License-Identifier: GPL-2.0-only
"""``./lab kit --import FILE``: what a kit's run timed is recorded in results/, as ./lab bench does."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from padlab.core import git, host, paths, progress, stats
from padlab.core.errors import LabError
from padlab.kit import form
from padlab.measure import bench, provenance, structpages, tools, zeroing
from padlab.vm import dmesg

KERNELS = ("stock", "patched")
UNIT = "deferred init as the node's line has it, and from the kernel's start to init, ms"
_REFERENCE = re.compile(r"^\w+: round \d+ reference ")

Record = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A file, and what its first sections say: of the kit, and of the machine."""

    file: form.File
    kit: Mapping[str, str]
    machine: Mapping[str, str]
    cpu: host.Cpu

    @property
    def host(self) -> str:
        return f"{self.cpu}, {self.machine['cpus']} CPUs"

    @property
    def slug(self) -> str:
        return f"{self.cpu.slug}-{self.machine['cpus']}cpus"

    def made(self, command: str, base: str) -> Record:
        nodes, gib = max(int(self.machine["nodes"]), 1), round(int(self.machine["total-mib"]) / 1024)
        return {
            "command": command,
            "source": self.kit[f"source-{base}"],
            "commit": self.kit["commit"],
            "host": self.host,
            "date": self.kit["run"],
            "how": f"by a kit of ./lab kit; the host has {nodes} node{'s' * (nodes > 1)}, {gib} GiB",
        }


def read(path: Path) -> Run:
    file = form.read(path)
    body = "\n".join(section.body for section in file.of("host"))
    run = Run(file, _facts(file.sections[0].body), _facts(body), host.parse_cpu(body))
    if not {"cpus", "nodes", "total-mib"} <= set(run.machine):
        why = "it does not say which machine wrote it: the run was ended at its start"
        raise LabError(f"importing {path}", why, "run the kit again")
    return run


def _facts(text: str) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in text.splitlines() if " " in line)


def records(run: Run) -> Iterator[tuple[str, str, Record]]:
    """The base, the file's name and the record of each."""
    hugepages: dict[str, Record] = {}
    for section in run.file.of("natives"):
        base, program = section.words["base"], section.words["program"]
        said = tools.said(_whole_rounds(section), f"{program}: ")
        if said.failure or not said.reference:
            continue
        made = run.made(section.command, base) | {"compiler": run.kit["compiler"]}
        if program == "memmap_bench":
            yield base, "bench.json", {**made, "benches": bench.benches([structpages.parse(said)])}
        else:
            kind = "native_copies" if "--copy" in section.command.split() else "native"
            hugepages.setdefault(base, made)[kind] = zeroing.rows(zeroing.parse(said).timings)
    yield from ((base, "hugepages.json", record) for base, record in hugepages.items() if "native" in record)
    booted, swept = _timed(run, "boots", "kernel"), _timed(run, "sweep", "threads")
    boots = [
        {"gib": gib, "kernel": kernel, "cpus": logs[0].cpus, "runs": len(logs), **_both(logs)}
        for (gib, kernel), logs in sorted(booted.items(), key=lambda item: item[0][0])
        if all((gib, other) in booted for other in KERNELS)
    ]
    sweep = [
        {"gib": gib, "kernel": "patched", "threads": int(threads), **_both(logs)}
        for (gib, threads), logs in swept.items()
    ]
    if boots:
        base, command = run.kit["base"], run.file.of("boots")[0].command
        made = run.made(command.partition(" -m ")[0], base)
        made["accelerator"] = "kvm" if "-accel kvm" in command else "tcg, a thread for each CPU"
        made |= {"config": run.kit["config"], "qemu": run.kit["qemu"], "unit": UNIT}
        yield base, "boots.json", {**made, "boots": boots, "threads": sweep}


def _whole_rounds(section: form.Section) -> list[str]:
    """The lines of a program, without those of a round that its time has cut."""
    lines = section.body.splitlines()
    begun = [at for at, line in enumerate(lines) if _REFERENCE.match(line)]
    return lines if section.status == 0 or not begun else lines[: begun[-1]]


def _timed(run: Run, kind: str, key: str) -> dict[tuple[int, str], list[dmesg.Dmesg]]:
    """Logs of boots that came to init, by GiB and another word of the section's name."""
    by: dict[tuple[int, str], list[dmesg.Dmesg]] = {}
    for section in run.file.of(kind):
        log = dmesg.parse(section.body)
        if section.status == 0 and log.nodes and log.boot_ms and not log.panic:
            by.setdefault((int(section.words["gib"]), section.words[key]), []).append(log)
    return by


def _both(logs: Iterable[dmesg.Dmesg]) -> Record:
    deferred = stats.summarize([max(node.ms for node in log.nodes) for log in logs])
    to_init = stats.summarize([log.boot_ms for log in logs if log.boot_ms])
    return {"deferred_ms": deferred, "boot_ms": to_init}


def main(path: Path) -> Run:
    run = read(path)
    progress.result(f"{run.host}: a run of {run.kit['run']}, with a kit of commit {run.kit['commit']}")
    if run.kit["commit"] != (here := git.commit()):
        progress.result(f"note: this commit is {here}; the records name that of the kit")
    for line in missing(run):
        progress.result(line)
    for base, name, record in records(run):
        progress.result(_keep(paths.Base.named(base).results / provenance.CPUS / run.slug / name, record))
    return run


def missing(run: Run) -> Iterator[str]:
    kinds = {section.kind for section in run.file.sections}
    if absent := [phase for phase in run.kit["phases"].split(",") if phase not in kinds]:
        yield f"nothing is there of: {', '.join(absent)}"
    if not run.file.ended:
        yield "the run was ended before its end: what is complete counts"


def _keep(path: Path, record: Record) -> str:
    """Write a record; what came of it, in a line."""
    old = provenance.load(path, "./lab bench", "importing").get("command", "") if path.exists() else ""
    if old.startswith("./lab "):
        return f"{paths.shown(path)}: not replaced, it is of {old}; remove it to have the kit's"
    provenance.save(path, record)
    return f"{paths.shown(path)}: recorded"
