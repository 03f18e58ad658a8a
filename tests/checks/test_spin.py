# SPDX-License-Identifier: GPL-2.0-only
"""The models: that each variant is one of the code as it is, what a search says, and how it is judged."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from checks.engine import search, spin
from checks.engine.search import Result
from checks.engine.spin import Search
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.kernel.owned import owned_files
from tests.conftest import set_base, write

GOOD = """\

(Spin Version 6.5.2 -- 6 December 2019)

Full statespace search for:
	never claim         	- (none specified)
	assertion violations	+

State-vector 28 byte, depth reached 34, errors: 0
     3738 states, stored
     2042 states, matched
     5780 transitions (= stored+matched)

pan: elapsed time 0.03 seconds
"""
BAD = """\
model: failed: use after free (job+0x10, freed), by worker 1 at jobs.c:60 *unit
pan:1: assertion violated  !mc_failed  (at depth 19)
pan: wrote search.pml.trail

State-vector 28 byte, depth reached 34, errors: 1
       48 states, stored
"""
FOUND = "use after free (job+0x10, freed), by worker 1 at jobs.c:60 *unit"


@pytest.mark.parametrize(
    ("text", "result", "says", "problem"),
    [
        (GOOD, Result(3738, search.NO_ERROR, ended=True), "", None),
        (GOOD, None, "data race", "it has to find 'data race', and finds no error"),
        (BAD, Result(48, FOUND, ended=True), "use after free", None),
        (BAD, None, "", FOUND),
        (BAD, None, "data race", f"it has to find 'data race', and finds {FOUND}"),
        (GOOD.replace("errors: 0", "errors: 1"), None, "", "an error of spin's own"),
        (GOOD[:200], None, "", "it ended with status 134 and no result"),
        ("model: the stack of caller is too small\n", None, "x", "it ended with status 134 and no result"),
        (
            f"error: max search depth too small\n{GOOD}",
            None,
            "",
            "not all states were searched: max search depth too small",
        ),
    ],
)
def test_a_search_is_read_and_judged(
    text: str, result: Result | None, says: str, problem: str | None
) -> None:
    parsed = search.parse(text)
    assert result in (None, parsed)
    assert search.problems(parsed, says, 134) == ([problem] if problem else [])


def test_each_model_of_the_programs_is_listed() -> None:
    for program, pattern in (("litmus", r'^\t\{ "([^"]+)", '), ("jobs", r'^\tENTRY\(\w+, "([^"]+)"\)')):
        text = (search.SOURCES / f"{program}.c").read_text()
        names = re.findall(pattern, text, re.MULTILINE)
        assert names == [name for name, model in spin.models().items() if model.program == program]


def test_each_variant_is_one_of_the_code_and_searched_in_a_model_without_error() -> None:
    variants, models, files = spin.variants(), spin.models(), owned_files()
    for name, variant in variants.items():
        source, model = files[variant.file].read_text(), models[variant.model]
        assert spin.without(name, variant, source) != source
        assert model.program == "jobs" and not model.says and not model.full
    assert len(variants) > 30


def test_each_order_of_the_engine_is_left_out_once() -> None:
    """Whoever adds one says what happens without it."""
    source = owned_files()[spin.native.ENGINE[0]].read_text()
    code = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    orders = re.findall(r"\b(smp_\w+|\w+_(?:acquire|release)|refcount_dec_and_test|smp_mb|\w+_mb)\(", code)
    orders = sorted(name for name in orders if not name.startswith(("lock_", "fs_reclaim_")))
    # Of each refcount_dec_and_test(), release and acquire; the caller has nothing to release.
    assert orders == ["refcount_dec_and_test"] * 3 + ["smp_load_acquire", "smp_store_release"]
    assert sum(variant.barrier for variant in spin.variants().values()) == 3 * 2 - 1 + 2


def test_a_variant_is_made_where_it_belongs() -> None:
    variant = spin.Variant("", "", "", "a\n", "b\n")
    assert spin.without("v", variant, "x\na\ny\n") == "x\nb\ny\n"
    for source in ("x\n", "a\na\n"):
        with pytest.raises(LabError, match="variant v: its old text is . times in kernel/padata_mt.c, not"):
            spin.without("v", variant, source)


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    set_base(monkeypatch, build=tmp_path)
    program = tmp_path / "jobs"
    return Search("t", "m", "why", "m", "", lambda: program)


def says(wanted: Search, text: str) -> None:
    program = wanted.build()
    program.with_suffix(".out").write_text(text)
    write(program, f'#!/bin/sh\n[ "$MODEL" = m ] || exit 3\ncat {program}.out\n', 0o755)


def test_a_model_is_judged(wanted: Search) -> None:
    says(wanted, GOOD)
    assert spin.check(wanted) == Outcome(1)
    other = replace(wanted, says="data race")
    assert spin.check(other).failures == ("why: it has to find 'data race', and finds no error",)
    says(wanted, BAD)
    outcome = spin.check(wanted)
    assert (outcome.failures, outcome.log) == ((f"why: {FOUND}",), paths.base().logs / "models-m.log")
    assert spin.check(replace(wanted, says="use after free", keep=False)) == Outcome(1)
    assert not wanted.build().exists()  # a variant's program is of no use to others


def test_a_place_in_the_program_becomes_one_in_the_source(
    wanted: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[object]] = []

    def addr2line(command: list[object], **_options: object) -> str:
        asked.append(command)
        return "/linux/kernel/padata_mt.c:278 (discriminator 3)\n"

    says(wanted, BAD.replace("at jobs.c:60 *unit", "at pc 0x410e80"))
    monkeypatch.setattr(search.process, "run", addr2line)
    found = FOUND.replace("jobs.c:60 *unit", "padata_mt.c:278")
    assert spin.check(wanted).failures == (f"why: {found}",)
    # What returns there was called just before.
    assert asked == [["addr2line", "-e", wanted.build(), "0x410e7f"]]
