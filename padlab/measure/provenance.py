# SPDX-License-Identifier: GPL-2.0-only
"""Recording results under results/, each with what made it (docs/measuring.md).

Always under the same name for the same measurement, so that git shows what a change did to the figures; what
depends on the host's CPU in a folder of that and how many there are, so that nothing of another one is lost.
"""

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from padlab.core import git, host, paths, progress
from padlab.core.errors import LabError
from padlab.kernel import source, tree
from padlab.kernel.arch import X86_64
from padlab.kernel.build import Build
from padlab.vm.accel import Accel

ROW_DEPTH = 2  # tables in each other that are a row
CPUS = "cpus"  # the folder of CPUs' folders
OF_CPU = ("bench.json", "hugepages.json", "starts.json", "boots.json")


def load(path: Path, command: str, what: str) -> Any:
    try:
        return json.loads(path.read_text())
    except ValueError:
        why = f"{paths.shown(path)} is not JSON"
    except OSError as err:
        why = f"{paths.shown(path)} cannot be read: {err.strerror}"
    raise LabError(what, why, f"record it with: {command}")


def provenance(command: str, build: Build, accel: Accel) -> dict[str, str]:
    return _made(command, build.source_version, config=build.config.name, **accel.as_dict())


def of_native(command: str) -> dict[str, str]:
    version = X86_64.identity.splitlines()[-1].strip()  # such as "gcc version 12.2.0 (Debian 12.2.0-14)"
    return _made(command, tree.source_version(), compiler=version.replace(" version", "", 1))


def _made(command: str, version: str, **more: str) -> dict[str, str]:
    return {
        "command": paths.command(command.removeprefix("./lab ")),
        "source": source.name_of(version),
        **more,
        "commit": git.commit(),
        "host": host.cpu(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def record(name: str, data: Mapping[str, Any]) -> None:
    results = paths.base().results
    path = (results / CPUS / host.cpu_slug() if name in OF_CPU else results) / name
    save(path, data)
    progress.result(f"recorded in {path}")


def save(path: Path, data: Mapping[str, Any]) -> None:
    write(path, to_text(msgspec.json.decode(msgspec.json.encode(data))) + "\n")


def to_text(value: Any, indent: str = "") -> str:
    """JSON in which a row is a line: a table or list that has no tables of its own, or only such."""
    if not isinstance(value, dict | list) or not value or (indent and _depth(value) <= ROW_DEPTH):
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {to_text(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    lines = [inner + to_text(item, inner) for item in value]
    return "[\n" + ",\n".join(lines) + f"\n{indent}]"


def _depth(value: Any) -> int:
    """How many tables are in each other; tables alone, in a list or by name, are more than a row."""
    if isinstance(value, dict):
        if value and all(isinstance(item, dict) for item in value.values()):
            return ROW_DEPTH + 1
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        depths = list(map(_depth, value))
        return ROW_DEPTH + 1 if any(depths) else 0
    return 0


def write(path: Path, text: str) -> None:
    """Replace ``path`` whole: an interrupted run leaves the old file."""
    path = path.resolve()
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        partial.replace(path)
    except OSError as err:
        raise LabError(f"recording {path.name}", f"{err.strerror}", f"check {path.parent}") from None
