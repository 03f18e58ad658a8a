# SPDX-License-Identifier: GPL-2.0-only
"""Records of results/ made of a kit's run, in the form that ./lab bench has, and that tables are made of."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from padlab.core import host, stats
from padlab.core.errors import LabError
from padlab.kit import form
from padlab.measure import bench, structpages, tools, zeroing
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
            rows = zeroing.rows(zeroing.parse(said).timings)
            hugepages.setdefault(base, made)[kind] = [asdict(row) for row in rows]
    yield from ((base, "hugepages.json", record) for base, record in hugepages.items() if "native" in record)
    if boots := list(_boots(run)):
        base, command = run.kit["base"], run.file.of("boots")[0].command
        made = run.made(command.partition(" -m ")[0], base)
        made["accelerator"] = "kvm" if "-accel kvm" in command else "tcg, a thread for each CPU"
        made |= {"config": run.kit["config"], "qemu": run.kit["qemu"], "unit": UNIT}
        yield base, "boots.json", {**made, "boots": boots, "threads": list(_sweep(run))}


def _whole_rounds(section: form.Section) -> list[str]:
    """The lines of a program, without those of a round that its time has cut."""
    lines = section.body.splitlines()
    begun = [at for at, line in enumerate(lines) if _REFERENCE.match(line)]
    return lines if section.status == 0 or not begun else lines[: begun[-1]]


def _boots(run: Run) -> Iterator[Record]:
    timed = _timed(run, "boots", "kernel")
    for gib in sorted({gib for gib, _ in timed if all((gib, kernel) in timed for kernel in KERNELS)}):
        for kernel in KERNELS:
            logs = timed[gib, kernel]
            row = {"gib": gib, "kernel": kernel, "cpus": logs[0].cpus, "runs": len(logs)}
            yield {**row, **_both(logs)}


def _sweep(run: Run) -> Iterator[Record]:
    """Boots of ours by threads."""
    for (gib, threads), logs in _timed(run, "sweep", "threads").items():
        yield {"gib": gib, "kernel": "patched", "threads": int(threads), **_both(logs)}


def _timed(run: Run, kind: str, key: str) -> dict[tuple[int, str], list[dmesg.Dmesg]]:
    """Logs of boots that came to init, by GiB and another word of the section's name."""
    ended = [section for section in run.file.of(kind) if section.status == 0]
    by = stats.group(ended, lambda section: (int(section.words["gib"]), section.words[key]))
    logs = {group: [dmesg.parse(section.body) for section in same] for group, same in by.items()}
    good = {group: [log for log in same if log.nodes and _to_init(log)] for group, same in logs.items()}
    return {group: same for group, same in good.items() if same}


def _to_init(log: dmesg.Dmesg) -> float | None:
    return None if log.panic else log.boot_ms


def _both(logs: list[dmesg.Dmesg]) -> Record:
    deferred = stats.summarize([max(node.ms for node in log.nodes) for log in logs])
    to_init = stats.summarize([ms for log in logs if (ms := _to_init(log))])
    return {"deferred_ms": asdict(deferred), "boot_ms": asdict(to_init)}
