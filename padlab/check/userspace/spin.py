# SPDX-License-Identifier: GPL-2.0-only
"""Models: all that two or three threads of a job may do, with weakly ordered memory.

``checks/models`` has the C code of the engine and of the task back end run under spin's
search: see docs/testing.md.  ``models.toml`` lists what is searched, ``variants.toml`` what
is left out of the code to show that it is needed, and what is found then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from padlab.check.plan import selection
from padlab.check.userspace import search
from padlab.check.userspace.search import Result
from padlab.core import packages, paths, progress, table, toml
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import native
from padlab.kernel.arch import X86_64
from padlab.kernel.content import digest, fingerprint, write
from padlab.kernel.owned import owned_files

MODELS = search.SOURCES / "models.toml"
VARIANTS = "models/variants.toml"
MEMORY, JOBS, LEFT_OUT = "memory order", "jobs", "left out"


class Model(Struct, forbid_unknown_fields=True):
    program: Literal["jobs", "litmus"]
    why: str
    says: str = ""  # what has to be found, else nothing may be
    full: bool = False


class Variant(Struct, forbid_unknown_fields=True):
    """A table of variants.toml: what takes the place of what, in which file, and who finds it."""

    why: str
    model: str
    says: str
    old: str
    new: str
    in_task: bool = False
    barrier: bool = False

    @property
    def file(self) -> str:
        return search.TASK if self.in_task else native.ENGINE[0]


def models(path: Path = MODELS) -> dict[str, Model]:
    return toml.load(path, dict[str, Model])


def variants() -> dict[str, Variant]:
    return toml.load(paths.CHECKS / VARIANTS, dict[str, Variant], paths.over(VARIANTS))


def without(name: str, variant: Variant, source: str) -> str:
    if (count := source.count(variant.old)) != 1:
        why = f"its old text is {count} times in {variant.file}, not once"
        raise LabError(f"variant {name}", why, f"correct it in {paths.shown(paths.table(VARIANTS))}")
    return source.replace(variant.old, variant.new)


def build(name: str, variant: Variant) -> Path:
    source = paths.BUILD / "models-variants" / f"{name}.c"
    write(source, without(name, variant, owned_files()[variant.file].read_text()))
    which = {"TASK" if variant.in_task else "ENGINE": source}
    return search.build(f"jobs-{name}", NAME=name, **which)


@dataclass(frozen=True)
class Search:
    """What is to be searched, ``says`` being what it has to find."""

    name: str
    kind: str
    why: str
    model: str
    says: str
    build: Callable[[], Path]
    keep: bool = True  # its program is of use to others


@dataclass(frozen=True)
class Searched:
    search: Search
    result: Result
    problems: list[str]
    log: Path


def searches(full: bool = False) -> list[Search]:
    listed = []
    for name, model in models().items():
        if full or not model.full:
            kind = MEMORY if model.program == "litmus" else JOBS
            made = partial(search.build, model.program)
            listed.append(Search(name, kind, model.why, name, model.says, made))
    for name, variant in variants().items():
        kind = f"{LEFT_OUT}, barrier" if variant.barrier else LEFT_OUT
        made = partial(build, name, variant)
        listed.append(Search(name, kind, variant.why, variant.model, variant.says, made, keep=False))
    return listed


def seen(kind: str, full: bool) -> str:
    modules = (Path(__file__), Path(search.__file__))
    sources = [path for path in sorted(search.SOURCES.iterdir()) if path.is_file()]
    marks = [f"{path.name} {fingerprint(path)}" for path in (*modules, *sources)]
    engine = [f"{name} {owned_files()[name].read_text()}" for name in (*native.ENGINE, search.TASK)]
    over = paths.over(VARIANTS)
    versions = [search.spin_version(), X86_64.identity, over.read_text() if over else ""]
    return digest([kind, str(full), *versions, *marks, *engine])


def do_all(chosen: Sequence[Search]) -> list[Searched]:
    done: list[Searched] = []
    with progress.step("searching models") as step:
        for nr, wanted in enumerate(chosen, start=1):
            step.update(f"{nr} of {len(chosen)}: {wanted.name}")
            program = wanted.build()
            result, status, log = search.run(program, wanted.model, wanted.name)
            if not wanted.keep:
                program.unlink()
            done.append(Searched(wanted, result, search.problems(result, wanted.says, status), log))
    return done


def check(kind: str, full: bool = False) -> Outcome:
    outcome = Outcome()
    for searched in do_all([wanted for wanted in searches(full) if wanted.kind.startswith(kind)]):
        wrong = [f"{searched.search.name} ({searched.search.why}): {why}" for why in searched.problems]
        outcome += judge(wrong, searched.log if wrong else None)
    return outcome


def choose(globs: Sequence[str], full: bool) -> list[Search]:
    searched = searches(full or bool(globs))
    return selection.named(globs, {wanted.name: wanted for wanted in searched}, "models", "model")


def main(globs: Sequence[str] = (), full: bool = False, list_only: bool = False) -> int:
    chosen = choose(globs, full)
    if list_only:
        print("".join(f"{wanted.name}\n" for wanted in chosen), end="")
        return 0
    packages.ensure(*search.GROUPS)
    done = do_all(chosen)
    show(done)
    return 1 if any(searched.problems for searched in done) else 0


def show(done: Sequence[Searched]) -> None:
    names = ("kind", "model", "searched in", "states", "verdict", "what it is about")
    grid = table.grid(names, left=set(names) - {"states"})
    for searched in done:
        wanted, states = searched.search, f"{searched.result.states:,}"
        cells = (wanted.kind, wanted.name, wanted.model, states, verdict(searched), wanted.why)
        grid.add_row(*map(table.plain, cells))
    table.console().print(grid)
    for searched in done:
        for problem in searched.problems:
            progress.result(f"{searched.search.name}: {problem}\n  log: {searched.log}")
    states = f"{sum(searched.result.states for searched in done):,}"
    wrong = sum(bool(searched.problems) for searched in done)
    progress.result(f"{len(done)} searched, {states} states, {wrong} not as they have to be")


def verdict(searched: Searched) -> str:
    if searched.problems:
        return "WRONG"
    error = searched.result.found
    return f"finds: {error.split(',')[0]}" if searched.search.says else error
