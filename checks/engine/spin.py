# SPDX-License-Identifier: GPL-2.0-only
"""Models: all that two or three threads of a job may do, with weakly ordered memory.

``models/`` has the C code of the engine and of the task back end run under spin's
search: see docs/testing.md.  ``models.toml`` lists what is searched, ``variants.toml`` what
is left out of the code to show that it is needed, and what is found then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from checks.engine import search
from padlab.core import paths, toml
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.kernel import native
from padlab.kernel.arch import X86_64
from padlab.kernel.content import digest, fingerprint, write
from padlab.kernel.owned import owned_files

MODELS = search.SOURCES / "models.toml"
VARIANTS = search.SOURCES / "variants.toml"
# By a model's program.
TITLES = {
    "litmus": "models: what the model of memory allows",
    "jobs": "models: all that the threads of a job may do",
}


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
    barrier: bool = False  # one of memory order

    @property
    def file(self) -> str:
        return search.TASK if self.in_task else native.ENGINE[0]


def models() -> dict[str, Model]:
    return toml.load(MODELS, dict[str, Model])


def variants() -> dict[str, Variant]:
    return toml.load(VARIANTS, dict[str, Variant])


def without(name: str, variant: Variant, source: str) -> str:
    if (count := source.count(variant.old)) != 1:
        why = f"its old text is {count} times in {variant.file}, not once"
        raise LabError(f"variant {name}", why, f"correct it in {paths.shown(VARIANTS)}")
    return source.replace(variant.old, variant.new)


def build(name: str, variant: Variant) -> Path:
    source = paths.base().build / "models-variants" / f"{name}.c"
    write(source, without(name, variant, owned_files()[variant.file].read_text()))
    which = {"TASK" if variant.in_task else "ENGINE": source}
    return search.build(f"jobs-{name}", NAME=name, **which)


@dataclass(frozen=True)
class Search:
    """What is to be searched, ``says`` being what it has to find."""

    title: str
    name: str
    why: str
    model: str
    says: str
    build: Callable[[], Path]
    keep: bool = True  # its program is of use to others
    full: bool = False  # has more states


def searches() -> Iterator[Search]:
    for name, model in models().items():
        made = partial(search.build, model.program)
        yield Search(TITLES[model.program], name, model.why, name, model.says, made, full=model.full)
    for name, variant in variants().items():
        title, made = "models: each piece of the handshakes is needed", partial(build, name, variant)
        yield Search(title, name, variant.why, variant.model, variant.says, made, keep=False)


def seen(wanted: Search) -> str:
    modules = (Path(__file__), Path(search.__file__))
    sources = [path for path in sorted(search.SOURCES.iterdir()) if path.is_file()]
    marks = [f"{path.name} {fingerprint(path)}" for path in (*modules, *sources)]
    engine = [f"{name} {owned_files()[name].read_text()}" for name in (*native.ENGINE, search.TASK)]
    versions = [search.spin_version(), X86_64.identity]
    return digest([wanted.name, *versions, *marks, *engine])


def check(wanted: Search) -> Outcome:
    program = wanted.build()
    outcome = search.check(program, wanted.model, wanted.name, wanted.says)
    if not wanted.keep:
        program.unlink()
    return replace(outcome, failures=tuple(f"{wanted.why}: {failure}" for failure in outcome.failures))
