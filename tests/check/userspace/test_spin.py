# SPDX-License-Identifier: GPL-2.0-only
"""The models: that each variant is one of the code as it is, what a search says, and how it is judged."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from padlab.check.userspace import search, spin
from padlab.check.userspace.search import Result
from padlab.check.userspace.spin import Search, Variant
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel.owned import owned_files

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


def parse(text: str) -> Result:
    return search.parse(text.splitlines())


def test_a_search_without_error() -> None:
    result = parse(GOOD)
    assert result == Result(3738, search.NO_ERROR, ended=True)
    assert search.problems(result, "", 0) == []
    assert search.problems(result, "data race", 0) == ["it has to find 'data race', and finds no error"]


def test_a_search_that_finds_an_error() -> None:
    result = parse(BAD)
    assert result == Result(48, FOUND, ended=True)
    assert search.problems(result, "use after free", 0) == []
    assert search.problems(result, "", 0) == [FOUND]
    assert search.problems(result, "data race", 0) == [f"it has to find 'data race', and finds {FOUND}"]


def test_an_error_of_spins_own() -> None:
    result = parse(GOOD.replace("errors: 0", "errors: 1"))
    assert search.problems(result, "", 0) == ["an error of spin's own"]


def test_a_search_that_was_cut_off() -> None:
    assert search.problems(parse(GOOD[:200]), "", 134) == ["it ended with status 134 and no result"]
    assert search.problems(parse("model: the stack of caller is too small\n"), "x", 134)


def test_a_search_that_leaves_out_states() -> None:
    result = parse(f"error: max search depth too small\n{GOOD}")
    (problem,) = search.problems(result, "", 0)
    assert "not all states" in problem


# What there is to search


def test_each_model_of_the_programs_is_listed() -> None:
    for program, pattern in (("litmus", r'^\t\{ "([^"]+)", '), ("jobs", r'^\tENTRY\(\w+, "([^"]+)"\)')):
        text = (search.SOURCES / f"{program}.c").read_text()
        names = re.findall(pattern, text, re.MULTILINE)
        assert names == [name for name, model in spin.models().items() if model.program == program]


def test_each_variant_is_one_of_the_code_as_it_is() -> None:
    every, files = spin.variants(), owned_files()
    for name, variant in every.items():
        source = files[variant.file].read_text()
        assert spin.without(name, variant, source) != source
    assert len(every) > 40


def test_each_variant_is_searched_in_a_model_without_error() -> None:
    known = spin.models()
    for variant in spin.variants().values():
        model = known[variant.model]
        assert model.program == "jobs" and not model.says and not model.full


def test_each_order_of_the_engine_is_left_out_once() -> None:
    """Whoever adds one says what happens without it."""
    source = owned_files()[spin.native.ENGINE[0]].read_text()
    code = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    orders = re.findall(r"\b(smp_\w+|\w+_(?:acquire|release)|refcount_dec_and_test|smp_mb|\w+_mb)\(", code)
    found = sorted(name for name in orders if not name.startswith("lock_"))
    # Of each refcount_dec_and_test(), release and acquire; the caller has nothing to release.
    assert found == ["refcount_dec_and_test"] * 3 + ["smp_load_acquire", "smp_store_release"]
    assert sum(variant.barrier for variant in spin.variants().values()) == 3 * 2 - 1 + 2


def variant(**fields: str) -> Variant:
    return Variant(**{"why": "w", "model": "m", "says": "s", "old": "a\n", "new": "b\n", **fields})  # type: ignore[arg-type]


def test_a_variant_is_made_where_it_belongs() -> None:
    assert spin.without("v", variant(), "x\na\ny\n") == "x\nb\ny\n"
    for source in ("x\n", "a\na\n"):
        with pytest.raises(
            LabError, match="variant v: its old text is . times in kernel/padata_mt.c, not once"
        ):
            spin.without("v", variant(), source)


def test_a_bad_list(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text("[a]\nwhy='w'\nprogram='job'\n")
    with pytest.raises(LabError, match="^models.toml: a.program: invalid"):
        spin.models(tmp_path / "models.toml")


# Choosing


def test_those_of_full_are_left_out_unless_named() -> None:
    names = {one.name for one in spin.choose([], full=False)}
    everything = {one.name for one in spin.choose([], full=True)}
    assert names < everything and "task-again-long" in everything - names
    assert [one.name for one in spin.choose(["task-again-l*"], full=False)] == ["task-again-long"]


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(LabError, match="no model has that name, nearest are .*boot-three"):
        spin.choose(["boot-threee"], full=False)


# Searching, with a script in place of the program


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    monkeypatch.setattr(paths, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(search, "PLACE", tmp_path / "place")
    program = tmp_path / "jobs"
    return Search("m", spin.JOBS, "why", "m", "", lambda: program)


def says(one: Search, text: str, status: int = 0) -> None:
    program = one.build()
    program.with_suffix(".out").write_text(text)
    program.write_text(f'#!/bin/sh\n[ "$MODEL" = m ] || exit 3\ncat {program}.out\nexit {status}\n')
    program.chmod(0o755)


def test_a_model_is_judged(one: Search) -> None:
    says(one, GOOD)
    done = spin.do(one)
    assert (done.states, done.problems, spin.verdict(done)) == (3738, [], "no error")
    says(one, BAD)
    done = spin.do(one)
    assert (done.problems, spin.verdict(done)) == ([FOUND], "WRONG")
    done = spin.do(replace(one, says="use after free"))
    assert (done.problems, spin.verdict(done)) == ([], "finds: use after free (job+0x10")


def test_a_place_in_the_program_becomes_one_in_the_source(
    one: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[object]] = []

    def addr2line(command: list[object], **_options: object) -> str:
        asked.append(command)
        return "/linux/kernel/padata_mt.c:278 (discriminator 3)\n"

    says(one, BAD.replace("at jobs.c:60 *unit", "at pc 0x410e80"))
    monkeypatch.setattr(search.process, "run", addr2line)
    assert spin.do(one).found == FOUND.replace("jobs.c:60 *unit", "padata_mt.c:278")
    # What returns there was called just before.
    assert asked == [["addr2line", "-e", one.build(), "0x410e7f"]]


def test_a_variants_program_is_removed(one: Search) -> None:
    says(one, BAD)
    spin.do(replace(one, says="use after free", keep=False))
    assert not one.build().exists()


def test_the_check_has_a_case_for_each(one: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(one, name="n", says="data race")
    left = replace(one, name="o", kind=spin.LEFT_OUT)
    monkeypatch.setattr(spin, "searches", lambda _full: [one, other, left])
    says(one, GOOD)
    outcome = spin.check(spin.JOBS)
    assert outcome.passed == 1
    assert outcome.failures == ("n (why): it has to find 'data race', and finds no error",)
    assert outcome.log == paths.LOGS / "models-n.log"


def test_all_of_it_is_recorded(
    one: Search, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spin, "searches", lambda *_args, **_names: [one])
    monkeypatch.setattr(spin.packages, "ensure", lambda *_groups: None)
    monkeypatch.setattr(spin.search, "spin_version", lambda: "spin 6.5.2")
    monkeypatch.setattr(spin.paths, "BUILD", tmp_path)
    says(one, GOOD)
    assert spin.main(json=True) == 0
    assert json.loads(capsys.readouterr().out)["models"][0]["states"] == 3738
    assert not (tmp_path / "records" / spin.RECORD).exists()
    assert spin.main(full=True) == 0
    assert "1 searched, 3,738 states" in capsys.readouterr().out
    assert json.loads((tmp_path / "records" / spin.RECORD).read_text())["spin"] == "spin 6.5.2"
    says(one, BAD)
    assert spin.main(trace=True) == 1
