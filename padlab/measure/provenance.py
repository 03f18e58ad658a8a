# SPDX-License-Identifier: GPL-2.0-only
"""Recording results under results/, each with what made it.

Only these commands record, and always under the same name for the same
measurement, so that git shows what a change did to the figures:

    results/compare-MACHINE-exact.json   ./lab compare --machine MACHINE, exact mode
    results/growth.json                  ./lab growth --large: exact mode, several sizes
    results/parts.json                   ./lab parts: exact mode, after each part of the series
    results/timeline-MACHINE.png         ./lab timeline --machine MACHINE
    results/models.json                  ./lab models --full
    results/mutants.csv, .json           ./lab mutants: what is known of all, whatever was run last
    results/coverage.json                ./lab coverage
    results/soak.json                    ./lab soak: the last run of more than one machine
    results/outside.json                 ./lab outside: all of its programs
    results/full.json                    ./lab test --full: which checks have passed so far
    results/margins.json                 ./lab margins: what is known of each check, run often
    results/chart.png                    ./lab chart: growth.json and bench.json of all bases and CPUs
    results/predict-published.csv, .png  ./lab predict: the published machines
    results/predict-large.csv, .png      the same: machines of 1 to 24 TiB

What depends on the host's CPU, native times and times of boots, is in a folder of that CPU,
such as results/cpus/amd-family-26-model-2, so that nothing recorded on another one is lost:

    bench.json, .csv                     ./lab bench: native, all rounds in the CSV
    hugepages.json                       ./lab bench hugepages
    elapsed.json                         ./lab growth --elapsed: times of boots that wait, and that do not
    compare-MACHINE.json                 ./lab compare --machine MACHINE, timed
    starts.json                          ./lab starts
    sweep-MACHINE.csv, .png              ./lab sweep --machine MACHINE

Every file names its command and, unless it is a prediction, the day (UTC), the Debian source
version of the kernels, the commit of this repository, and the host's CPU; the accelerator and
QEMU's version where guests were booted, the compiler where native programs ran.
Those of another base than 6.12 are in results/NAME, and their command says which.
"""

from __future__ import annotations

import datetime
import json as jsonlib
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from padlab.core import git, host, paths, table
from padlab.core.errors import LabError
from padlab.kernel import compiler, source, tree
from padlab.kernel.build import Build
from padlab.vm.accel import Accel

CPUS = "cpus"  # the folder of CPUs' folders
# What depends on the CPU; of names that fit both, the second are the exact ones.
_BY_CPU = ("bench.*", "hugepages.json", "elapsed.json", "compare-*.json", "starts.json", "sweep-*")
_EXACT = "*-exact.json"


def is_of_cpu(name: str) -> bool:
    """Whether a result depends on the host's CPU."""
    return any(fnmatch(name, one) for one in _BY_CPU) and not fnmatch(name, _EXACT)


def path_of(name: str) -> Path:
    """Where a result of the base in use is recorded on this host."""
    return paths.RESULTS / CPUS / host.cpu_slug() / name if is_of_cpu(name) else paths.RESULTS / name


def of_cpus(name: str, base: str | None = None) -> dict[str, Path]:
    """By CPU, in order, where a result that depends on it has been recorded for a base, or the one in use."""
    top = paths.results_of(base or paths.BASE) / CPUS
    return {path.parent.name: path for path in sorted(top.glob(f"*/{name}"), key=_by_cpu)}


def _by_cpu(path: Path) -> list[tuple[str, int]]:
    """Families and models in the order of their numbers."""
    words = path.parent.name.split("-")
    return [("", int(word)) if word.isdigit() else (word, 0) for word in words]


class MissingError(LabError):
    """A result that is not recorded, or cannot be read; ``command`` records it."""

    def __init__(self, what: str, why: str, command: str, again: bool = False) -> None:
        super().__init__(what, why, f"record it {'again ' if again else ''}with: {command}")
        self.command = command


def load(path: Path, command: str, what: str) -> Any:
    """A JSON file of results/, for ``what``; ``command`` records it."""
    try:
        return jsonlib.loads(path.read_text())
    except FileNotFoundError:
        raise MissingError(what, f"there is no {paths.shown(path)}", command) from None
    except ValueError:
        raise MissingError(what, f"{paths.shown(path)} is not JSON", command, again=True) from None
    except OSError as err:
        raise unreadable(path, command, what, err) from None


def unreadable(path: Path, command: str, what: str, err: OSError) -> MissingError:
    """For a file that is there."""
    return MissingError(what, f"{paths.shown(path)} cannot be read: {err.strerror}", command, again=True)


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def provenance(command: str, build: Build, accel: Accel) -> dict[str, str]:
    """What made a result of boots; ``accel`` is theirs."""
    return {
        "command": _command(command),
        "source": source.name_of(build.source_version),
        "config": build.config.name,
        "commit": git.commit(),
        **accel.as_dict(),
        "host": host.cpu(),
        "date": today(),
    }


def of_native(command: str) -> dict[str, str]:
    """What made a result of native programs."""
    return {
        "command": _command(command),
        "source": source.name_of(tree.source_version()),
        "compiler": compiler.name(),
        "commit": git.commit(),
        "host": host.cpu(),
        "date": today(),
    }


def _command(command: str) -> str:
    return paths.command(command.removeprefix("./lab "))


def record(name: str, data: Mapping[str, Any], json: bool, show: Callable[[], None]) -> None:
    """Write a result to its file; print it as JSON, or show it and say where it is."""
    path = path_of(name)
    write_json(path, data)
    tell(data, json, show)
    if not json:
        table.console().print(f"recorded in {path}", markup=False, soft_wrap=True)


def tell(data: Mapping[str, Any], json: bool, show: Callable[[], None]) -> None:
    """Print a result as JSON, or show it."""
    if json:
        print(jsonlib.dumps(data, indent=2))
    else:
        show()


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    write(path, jsonlib.dumps(data, indent=2) + "\n")


def write(path: Path, data: str | bytes) -> None:
    """Replace ``path`` whole: an interrupted run leaves the old file."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise LabError(f"writing {path}", "it is not a regular file", "give the name of a file")
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, str):
            data = data.encode()
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as err:
        raise LabError(f"recording {path.name}", f"{err.strerror}", f"check {path.parent}") from None
