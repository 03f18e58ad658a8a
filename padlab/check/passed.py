# SPDX-License-Identifier: GPL-2.0-only
"""Checks that have passed with the files as they are now: a long run can be ended, and go on later.

What passes is kept in this clone; results/ has what passed in runs of all checks, also on other
machines. A check counts until a file changes that it may depend on: any that a commit would have,
but for

 - results, of which commands record some between two runs;
 - documents, what CI runs and the lab's own tests, unless the check is of the lab itself;
 - messages of the series, unless the check's module reads them;
 - modules of the lab that the check's own does not import, itself or through others;
 - tables of tests/ that none of those modules names;
 - scripts of the kselftests, unless one of those modules runs them or exports the series;
 - what another base has of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from padlab.check import fresh, lab, record, suites
from padlab.check.report import Report
from padlab.check.runner import Check
from padlab.core import git, host, imports, paths
from padlab.core.once import once
from padlab.kernel import mailseries
from padlab.kernel.content import digest, fingerprint
from padlab.measure import provenance

STATE = paths.BUILD / "test-passed.json"

Known = dict[str, dict[str, Any]]  # by the check's name, as in record.py

# Of what neither a kernel nor a guest knows: documents, what CI runs, and what the lab's tests read.
_LAB = re.compile(r"\.ci/|docs/|(?:CONTRIBUTING|README)\.md$|tests/(?:mutants/|data/|.*\.py$)")
_MODULE = re.compile(r"padlab/(?!guest/).*\.py$")
_TABLE = re.compile(r"tests/[^/]+\.toml$")
_SCRIPT = re.compile(r"linux/tools/testing/selftests/padata/\w+\.sh$")
_MESSAGE = re.compile(r"(?:bases/[^/]+/)?series/")


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
        if _MESSAGE.match(name):
            return mailseries.__name__ in modules
        if _SCRIPT.match(name):
            return not modules.isdisjoint((suites.__name__, mailseries.__name__))
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
    """By name, what is known of each check in this clone: that it passed, or failed."""
    found = _read(STATE)
    return found if isinstance(found, dict) else {}


def _recorded() -> Known:
    """By name, what results/ has."""
    found = _read(provenance.path_of(record.FULL))
    checks = found.get("checks") if isinstance(found, dict) else None
    return {one.get("name", ""): one for one in checks or () if isinstance(one, dict)}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def known(checks: Iterable[Check]) -> Known:
    """Those of ``checks`` that have passed since a file changed that they depend on."""
    return _passed(checks, (_kept(), _recorded()))


def recorded(checks: Iterable[Check]) -> Known:
    """Those of them of which results/ says so."""
    return _passed(checks, (_recorded(),))


def _passed(checks: Iterable[Check], sources: Sequence[Known]) -> Known:
    last = {one.name: _last(one, sources) for one in checks}
    return {name: went for name, went in last.items() if went and not went["failed"]}


def _last(check: Check, sources: Iterable[Known]) -> dict[str, Any] | None:
    """How it went with the files as they are now, by the first of ``sources`` that knows."""
    now = state(check)
    for source in sources:
        went = source.get(check.name)
        if isinstance(went, dict) and went.get("state") == now != "":
            return went
    return None


def keep(check: Check, report: Report) -> None:
    """Add how it went."""
    if not files():
        return
    made = {"date": provenance.today(), "commit": git.commit(), "host": host.cpu(), "state": state(check)}
    kept = {**_kept(), check.name: {**record.as_dict(report), **made}}
    STATE.parent.mkdir(parents=True, exist_ok=True)
    STATE.write_text(json.dumps(kept, indent=1) + "\n")
