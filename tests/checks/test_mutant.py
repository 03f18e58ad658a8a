# SPDX-License-Identifier: GPL-2.0-only
"""Mutants: each can be seeded, checks that exist are to notice it, and runs are judged right."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from checks import expected
from checks.mutants import detectors, mutant, mutantkernel, mutants
from checks.mutants.detectors import Detector
from checks.mutants.mutant import Mutant
from checks.mutants.mutants import BROKEN, EQUIVALENT, KILLED, OPEN, SURVIVED, Log, Verdict
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import tree
from padlab.kernel.owned import owned_files
from tests.conftest import set_base

OURS = mutant.all_of()
# Where faults are most likely to do harm after boot.
AFTER_BOOT = {
    "kernel/padata_mt_task.c",
    "kernel/sched/charge.c",
    "mm/folio_zero.c",
    "arch/x86/mm/zero_pages.c",
}

FAULT = Mutant("w", "a\n", "b\n", "kernel/padata_mt.c", ("asan",), id="engine/b")


def test_there_are_enough() -> None:
    assert len({fault.id for fault in OURS}) == len({fault.key for fault in OURS}) == len(OURS) >= 100
    assert sum(fault.file in AFTER_BOOT for fault in OURS) >= 30
    tested = (
        "tools/",
        "kernel/test_",
        "include/trace/",
        "kernel/padata_mt_kunit.c",
        "mm/memmap_bulk_kunit.c",
    )
    code = {name for name in owned_files() if name.endswith(".c") and not name.startswith(tested)}
    assert code <= {fault.file for fault in OURS}


@pytest.mark.parametrize("file", sorted({fault.file for fault in OURS}))
def test_each_can_be_seeded(file: str) -> None:
    source = (tree.ensure_tree("patched") / file).read_text()
    for fault in OURS:
        if fault.file == file:
            assert mutant.seeded(fault, source) != source


@pytest.mark.parametrize("name", sorted({name for fault in OURS for name in fault.checks}))
def test_the_checks_exist(name: str) -> None:
    check = detectors.named(name)
    assert check.tier in detectors.TIERS and not expected.why_left_out(name)
    assert any(map(check.reads, owned_files()))
    with pytest.raises(LabError, match="no check has that name"):
        detectors.named(f"{name}, nowhere")


def test_tests_are_read_by_those_who_run_them() -> None:
    suites = {"KUnit, smt-numa (perf)": True, detectors.UML: True}
    for name, suite in {**suites, detectors.FENCES: False, "test_load (perf)": False}.items():
        assert detectors.named(name).reads("kernel/padata_mt_kunit.c") is suite
        assert detectors.named(name).reads("kernel/padata_mt.c")


def test_programs_are_of_what_they_are_made_of() -> None:
    """A program can notice nothing in a file that it does not read."""
    for fault in OURS:
        for check in mutants.checks_of(fault):
            assert check.tier != "userspace" or check.reads(fault.file), f"{fault.id}: {check.name}"


def test_cheap_checks_come_first() -> None:
    asan, tsan = detectors.FUZZ
    given = ("KUnit, smt-numa (debug)", "test_load (perf)", detectors.UML, asan)
    checks = mutants.checks_of(replace(FAULT, checks=given))
    assert [check.name for check in checks] == list(reversed(given))
    bug = replace(FAULT, checks=(asan, tsan), build="tsan")
    assert [check.name for check in mutants.checks_of(bug)] == [tsan, asan]


def test_a_mutant_is_seeded_once() -> None:
    assert mutant.seeded(FAULT, "x\na\ny\n") == "x\nb\ny\n"
    for source in ("x\n", "a\na\n"):
        with pytest.raises(LabError, match="times in kernel/padata_mt.c, not once"):
            mutant.seeded(FAULT, source)
    with pytest.raises(LabError, match="new text is the old one"):
        mutant.seeded(replace(FAULT, new="a\n"), "a\n")


TABLE = "file='f.c'\nchecks=['asan']\n[mutants.a]\nwhy='w'\nold='o'\nnew='n'\n"


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text(TABLE + "[mutants.b]\nwhy='w'\nold='p'\nnew=''\nfile='g.c'\nchecks=['zero']\n")
    assert mutant.load(path) == [
        Mutant("w", "o", "n", "f.c", ("asan",), id="t/a"),
        Mutant("w", "p", "", "g.c", ("zero",), id="t/b"),
    ]


def test_a_base_says_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, own = (tmp_path / folder / mutant.FOLDER for folder in ("shared", "own/checks"))
    for folder in (shared, own):
        folder.mkdir(parents=True)
    monkeypatch.setattr(paths, "CHECKS", tmp_path / "shared")
    set_base(monkeypatch, own=tmp_path / "own")
    (shared / "t.toml").write_text(TABLE + "[mutants.b]\nwhy='w'\nold='p'\nnew='n'\n")
    (own / "t.toml").write_text("[mutants]\na=false\n[mutants.b]\nold='q'\n")
    (own / "s.toml").write_text(TABLE)
    assert [(fault.id, fault.old, fault.new) for fault in mutant.all_of()] == [
        ("s/a", "o", "n"),
        ("t/b", "q", "n"),
    ]
    with pytest.raises(LabError, match=r"not once; correct it in .*own/checks/mutants/t.toml"):
        mutant.seeded(mutant.of_table("t")[0], "")


class Checks:
    """Checks that notice what they are told to, and note on what they were run."""

    def __init__(self) -> None:
        self.noticing: dict[str, set[str]] = {}
        self.ran: list[tuple[str, str]] = []

    def named(self, name: str) -> Detector:
        def build(fault: Mutant | None) -> Callable[[float], Outcome]:
            if fault and fault.new == "does not compile":
                raise LabError("building", "1 error", "mend it")

            def run(_limit_s: float) -> Outcome:
                self.ran.append((name, fault.name if fault else ""))
                noticed = (fault.name if fault else "") in self.noticing.get(name, set())
                return judge(["noticed"] if noticed else [])

            return run

        return Detector(name, "userspace" if name == "cheap" else "kernel", build, lambda _file: True)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Checks:
    checks = Checks()
    monkeypatch.setattr(detectors, "named", checks.named)
    monkeypatch.setattr(mutants, "_sources", lambda check: check.name)
    return checks


def of(name: str, **fields: str) -> Mutant:
    return replace(FAULT, id=f"engine/{name}", old=name, checks=("dear", "cheap"), **fields)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "kept.json")


def tried(log: Log, *chosen: Mutant, tier: str = "debug") -> list[tuple[str, str]]:
    verdicts = [mutants.tried(log, fault, tier) for fault in chosen]
    return [(verdict.outcome, verdict.by) for verdict in verdicts]


def test_a_run(checks: Checks, log: Log) -> None:
    checks.noticing = {"cheap": {"a"}, "dear": {"a", "b"}}
    chosen = of("a"), of("b"), of("c"), of("d", equivalent="nobody can tell")
    assert tried(log, *chosen, tier="userspace") == [
        (KILLED, "cheap"), (OPEN, ""), (OPEN, ""), (EQUIVALENT, ""),
    ]  # fmt: skip
    known = [(KILLED, "cheap"), (KILLED, "dear"), (SURVIVED, ""), (EQUIVALENT, "")]
    assert tried(log, *chosen) == tried(log, *chosen, tier="userspace") == known
    assert checks.ran == [
        *(("cheap", name) for name in ("", "a", "b", "c")),
        *(("dear", name) for name in ("", "b", "c")),
    ]


def test_one_check_that_notices_is_enough(checks: Checks, log: Log) -> None:
    checks.noticing = {"first": {"a"}, "second": {"a"}}
    tried(log, replace(of("a"), checks=("first", "second")))
    assert [name for name, fault in checks.ran if fault] == ["first"]


def test_what_is_known_is_kept(checks: Checks, log: Log, tmp_path: Path) -> None:
    checks.noticing = {"cheap": {"a"}}
    chosen = of("a"), of("b")
    tried(log, *chosen)
    ran = len(checks.ran)
    log = Log(tmp_path / "kept.json")
    assert tried(log, *chosen) == [(KILLED, "cheap"), (SURVIVED, "")]
    assert len(checks.ran) == ran
    tried(log, replace(chosen[0], new="another fault"))
    assert len(checks.ran) == ran + 1
    (tmp_path / "kept.json").write_text('{"cheap": {"key": {"noticed": true}}}')  # of another version
    tried(Log(tmp_path / "kept.json"), *chosen)
    assert len(checks.ran) == 2 * ran + 1


def test_a_check_that_fails_without_a_mutant(checks: Checks, log: Log) -> None:
    checks.noticing = {"cheap": {""}}
    with pytest.raises(LabError, match="check cheap: without a mutant: noticed"):
        tried(log, of("a"))


def test_what_does_not_compile_is_not_killed(checks: Checks, log: Log) -> None:
    verdict = mutants.tried(log, of("a", new="does not compile"), "debug")
    assert (verdict.outcome, verdict.said) == (BROKEN, "1 error")
    assert mutants.conclude([verdict], 1.0) == 1


def test_the_exit_status(capfd: pytest.CaptureFixture[str]) -> None:
    verdicts = [Verdict(FAULT, outcome) for outcome in (KILLED, EQUIVALENT, OPEN)]
    assert mutants.conclude(verdicts, 1.0) == 0
    assert mutants.conclude([*verdicts, Verdict(FAULT, SURVIVED)], 1.0) == 1
    said = capfd.readouterr().err
    assert "engine/b survives: w" in said
    assert "4 mutants: 1 killed, 1 equivalent, 1 not decided, 1 survived" in said


def test_a_mutant_is_chosen_by_table_or_name() -> None:
    assert {fault.table for fault in mutants.choose(["charge/*"])} == {"charge"}
    assert [fault.id for fault in mutants.choose(["/debt-forgiven"])] == ["charge/debt-forgiven"]
    assert mutants.choose([]) == OURS
    with pytest.raises(LabError, match="nearest: 'charge/debt-forgiven'"):
        mutants.choose(["charge/debt-forgivem"])


@pytest.mark.parametrize(("base", "kernel"), mutantkernel.MUTANT.items())
def test_a_kernel_has_a_patch_of_the_mutant(
    base: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutantkernel, "place", lambda: tmp_path)
    assert mutantkernel.seed(None, base) == base
    fault = next(fault for fault in OURS if fault.id == "folio_zero/one-thread-by-default")
    assert mutantkernel.seed(fault, base) == kernel
    patch = tmp_path / f"{kernel}.patch"
    assert tree.VARIANTS[kernel].extra == (*tree.VARIANTS[base].extra, patch)
    assert "+static int huge_page_max_threads __read_mostly = 1;" in patch.read_text()


def test_bare_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what differs is written, so that make does again what it has to."""
    monkeypatch.setattr(mutantkernel, "place", lambda: tmp_path)
    fault = next(fault for fault in OURS if fault.file == "mm/folio_zero.c")
    place = tmp_path / "tree" / fault.file
    detectors._bare_tree(None)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.c")}
    detectors._bare_tree(fault)
    good = owned_files()[fault.file].read_text()
    assert place.read_text() == mutant.seeded(fault, good)
    changed = [path for path, then in times.items() if path.stat().st_mtime_ns != then]
    assert changed == [place]
    detectors._bare_tree(None)
    assert place.read_text() == good
