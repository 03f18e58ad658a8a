# SPDX-License-Identifier: GPL-2.0-only
"""The report's table of what was proven: mutants, models, random machines, suites of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from padlab.core import paths
from padlab.report import recorded
from padlab.report.figure import Figure, Part, gathered

_Says = Callable[[Mapping[str, Any]], str]


def _mutants(data: Mapping[str, Any]) -> str:
    return (
        f"{data['mutants']} faults put into the code: {data['killed']} found by a test, {data['equivalent']}"
        f" change nothing, {data['survived']} not found"
    )


def _models(data: Mapping[str, Any]) -> str:
    models = data["models"]
    good = sum(model["as_it_has_to_be"] for model in models)
    states = sum(model["states"] for model in models)
    return f"{len(models)} searches, {states:,} states, {good} as they have to be"


def _soak(data: Mapping[str, Any]) -> str:
    return f"{data['machines']} random machines, {data['equal']} with stock's memory map"


def _outside(data: Mapping[str, Any]) -> str:
    suites = data["suites"]
    different = sum(len(suite["different"]) for suite in suites)
    cases = sum(suite["cases"] for suite in suites)
    return f"{cases:,} cases of the kernel's own tests, {different} other than on stock"


def _coverage(data: Mapping[str, Any]) -> str:
    files = data["files"].values()
    lines, ran = (sum(file[key] for file in files) for key in ("lines", "ran"))
    return f"{ran:,} of {lines:,} lines of the series ran in a guest; each of the others has a reason"


def _full(data: Mapping[str, Any]) -> str:
    missing = f"; {len(data['missing'])} checks have not been run so far" if data["missing"] else ""
    return f"{len(data['checks'])} checks with {data['passed']:,} cases passed{missing}"


KINDS: dict[str, tuple[str, str, _Says]] = {
    "faults": ("mutants.json", "mutants", _mutants),
    "model checker": ("models.json", "models --full", _models),
    "random machines": ("soak.json", "soak", _soak),
    "tests of others": ("outside.json", "outside", _outside),
    "coverage": ("coverage.json", "coverage", _coverage),
    "all checks": ("full.json", "test --full", _full),
}


def figure() -> Figure:
    def part(kind: str, name: str, words: str, says: _Says) -> Part:
        found = recorded.read(paths.DEFAULT_BASE, name, words)
        return Part((), ((kind, says(found.data)),), (found,))

    return gathered(
        "proof",
        "How it is known to hold",
        "Every struct page of stock and patched is compared after boot, on machines of many shapes.",
        ("proof", "result"),
        [partial(part, kind, *of) for kind, of in KINDS.items()],
    )
