# SPDX-License-Identifier: GPL-2.0-only
"""What tables are made from: records of results/, and names for their CPUs."""

import re
from typing import Any

from padlab.core.errors import LabError
from padlab.core.paths import Base
from padlab.measure import provenance

Record = dict[str, Any]
# Virtual machines hide the model's name.
GENERATIONS = {
    "family 25, model 1": "family 25, Zen 3",
    "family 25, model 17": "family 25, Zen 4",
    "family 26, model 2": "family 26, Zen 5",
    "family 6, model 207": "family 6, Emerald Rapids",
}
_HOST = re.compile(r"(?P<name>.*?)(?:\(R\))?(?: Xeon\(R\) Processor)? \((?P<model>.*?)\), (?P<cpus>\d+) CPUs")


def read(base: str, name: str) -> Record:
    command = "the command that docs/measuring.md gives for it"
    return dict(provenance.load(Base.named(base).results / name, command, "a table"))


def of_cpu(base: str, slug: str, name: str) -> Record:
    """The same of what depends on the CPU; ``slug`` is its folder."""
    return read(base, f"{provenance.CPUS}/{slug}/{name}")


def of_all(base: str, name: str) -> dict[str, Record]:
    """By CPU, the one with the most CPUs first."""
    paths = sorted((Base.named(base).results / provenance.CPUS).glob(f"*/{name}"))
    by_cpu = {path.parent.name: of_cpu(base, path.parent.name, name) for path in paths}
    return dict(sorted(by_cpu.items(), key=lambda item: -cpus(item[1])))


def cpus(record: Record) -> int:
    return int(_host(record)["cpus"])


def cpu(record: Record) -> str:
    """Such as "AMD EPYC (family 25, Zen 3), 2 CPUs"."""
    host = _host(record)
    name = "Intel Xeon" if host["name"].startswith("Intel") else host["name"]
    return f"{name} ({GENERATIONS.get(host['model'], host['model'])}), {host['cpus']} CPUs"


def _host(record: Record) -> re.Match[str]:
    host = _HOST.fullmatch(str(record["host"]))
    if host is None:
        why = f"{record['host']!r} does not say which CPU and how many"
        raise LabError("a record", why, f"record it again with: {record['command']}")
    return host
