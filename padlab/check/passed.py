# SPDX-License-Identifier: GPL-2.0-only
"""Checks that have passed in this clone as it is now: a long run can be ended, and go on later.

A check counts until a file changes that it may depend on: any that a commit would have, but for

 - results, of which commands record some between two runs;
 - documents and the lab's own tests, unless the check is of the lab itself;
 - modules of the lab that the check's own does not import, itself or through others;
 - tables of tests/ that none of those modules names;
 - what another base has of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from padlab.check import fresh, lab, record
from padlab.check.report import Report
from padlab.check.runner import Check
from padlab.core import git, imports, paths
from padlab.core.once import once
from padlab.kernel.content import digest, fingerprint

STATE = paths.BUILD / "test-passed.json"

Known = dict[str, dict[str, Any]]  # by the check's name, as in record.py

# Of what neither a kernel nor a guest knows: documents, and what the lab's tests read.
_LAB = re.compile(r"docs/|(?:CONTRIBUTING|README)\.md$|tests/(?:mutants/|data/|.*\.py$)")
_MODULE = re.compile(r"padlab/(?!guest/).*\.py$")
_TABLE = re.compile(r"tests/[^/]+\.toml$")


@once
def files(root: Path = paths.ROOT) -> Mapping[str, str]:
    """The fingerprint of each file when this is first asked for; none in a copy that is no clone."""
    names = [name for name in git.files(root) if not name.startswith(f"{paths.RECORDED.name}/")]
    return {name: mark for name in names if (mark := fingerprint(root / name))}


def state(check: Check) -> str:
    """A digest of the files that ``check`` may depend on; "" if nothing is to be kept."""
    if not files():
        return ""
    whole = check.name in (*lab.LINT, *lab.PARTS)
    modules = _closure(check)
    texts = [imports.modules()[name].read_text() for name in modules]

    def counts(name: str) -> bool:
        if whole or fresh.__name__ in modules:  # which runs ./lab in a clone
            return True
        if _of_another_base(name):
            return False
        if _MODULE.match(name):
            return imports.name_of(paths.ROOT / name) in modules
        if _TABLE.match(name):
            return any(Path(name).name in text for text in texts)
        return not _LAB.match(name)

    return digest(f"{name} {mark}" for name, mark in files().items() if counts(name))


def _of_another_base(name: str) -> bool:
    if name.startswith("bases/"):
        return not name.startswith(f"bases/{paths.BASE}/")
    return name.startswith("patches/") and paths.OWN is not None


def _closure(check: Check) -> frozenset[str]:
    names = {function.__module__ for function in _functions(check.run)}
    return frozenset().union(*map(imports.closure, names))


def _functions(run: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    if isinstance(run, partial):
        for inner in (run.func, *run.args, *run.keywords.values()):
            if callable(inner):
                yield from _functions(inner)
    else:
        yield run


def _kept() -> Known:
    try:
        found = json.loads(STATE.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def known(checks: Iterable[Check]) -> Known:
    """Those of ``checks`` that have passed since a file changed that they depend on."""
    kept = _kept()
    return {
        one.name: kept[one.name]
        for one in checks
        if one.name in kept and kept[one.name].get("state") == state(one) != ""
    }


def keep(check: Check, report: Report) -> None:
    """Add it if it passed, and take it out if it did not."""
    if not files():
        return
    kept = _kept()
    if report.outcome.failures:
        kept.pop(check.name, None)
    else:
        made = {"date": date.today().isoformat(), "commit": git.commit()}
        kept[check.name] = {**record.as_dict(report), **made, "state": state(check)}
    STATE.parent.mkdir(parents=True, exist_ok=True)
    STATE.write_text(json.dumps(kept, indent=1) + "\n")


def all_of(checks: Iterable[Check]) -> list[dict[str, Any]] | None:
    """What is known of ``checks``, if all of them have passed."""
    every = list(checks)
    passed = known(every)
    if any(one.name not in passed for one in every):
        return None
    return [{key: value for key, value in passed[one.name].items() if key != "state"} for one in every]
