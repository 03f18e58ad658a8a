# SPDX-License-Identifier: GPL-2.0-only
"""Steps of the series: each has its own files and those before it, and what is wrong names the step."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from padlab.check.source import eachstep, remarks
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.kernel.build import Build
from padlab.kernel.steps import Step
from padlab.kernel.tree import Variant

STEPS = [
    Step("01-a.msg", "sched: a", ("kernel/a.c",), ("a.patch",), "Text.\n"),
    Step("02-b.msg", "mm: b", (), ("b.patch",), "Text.\n"),
]


def contents(steps: Sequence[Step]) -> dict[str, Path]:
    """One file, which is another one after each step: it is named after what there is."""
    return {"kernel/a.c": Path(str(sum(len(step.owns) + len(step.hooks) for step in steps)))}


class Lab:
    """What the steps' kernels say and do, by the number of names that the tree has."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.had: list[list[str]] = []
        self.builds: dict[int, str] = {}
        self.remarks = {0: {"mm/x.c: warning: old"}}
        self.boots: dict[int, Outcome] = {}
        self.broken: set[int] = set()

    def have(self, variant: Variant) -> Path:
        assert variant.only is not None
        assert variant.instead == {"kernel/a.c": Path(str(len(variant.only)))}
        self.had.append(sorted(variant.only))
        return self.top

    def build(self, kernel: str, config: str) -> Build:
        count = len(self.had[-1])
        if count in self.broken:
            raise LabError(f"building {kernel}", "make ended with status 2", "fix the source")
        log = paths.LOGS / f"build-{kernel}-{config}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text(self.builds.get(count, ""))
        return Build(kernel, config, self.top, self.top / "obj-perf", self.top, "1", "6.12.1")

    def said(self, config: str, variant: Variant, *variables: str) -> set[str]:
        assert config == eachstep.CONFIG and "W=1" in variables and variant.only is not None
        return self.remarks.get(len(variant.only), set())

    def boot(self, _case: object, kernel: str) -> Outcome:
        assert kernel == remarks.TREE
        return self.boots.get(len(self.had[-1]), Outcome(1))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    fake = Lab(tmp_path)
    monkeypatch.setattr(paths, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(remarks, "have", fake.have)
    monkeypatch.setattr(remarks, "said", fake.said)
    monkeypatch.setattr(eachstep.packages, "ensure", lambda *groups: None)
    monkeypatch.setattr(eachstep.guests, "build", fake.build)
    monkeypatch.setattr(eachstep.memmap, "case", fake.boot)
    monkeypatch.setattr(eachstep.series, "read_steps", lambda: STEPS)
    monkeypatch.setattr(eachstep.series, "contents", contents)
    return fake


def test_each_has_its_own_and_those_before_it(lab: Lab) -> None:
    assert eachstep.check().passed == 2
    assert lab.had == [["a.patch", "kernel/a.c"], ["a.patch", "b.patch", "kernel/a.c"]]


def test_a_new_warning(lab: Lab) -> None:
    lab.remarks[2] = {"mm/x.c: warning: old"}
    assert eachstep.check().passed == 2
    lab.remarks[3] = {"mm/x.c: warning: old", "mm/y.c: warning: old"}
    lab.builds[2] = "../fs/z.c:1:1: warning: unused variable 'z'\n"
    assert eachstep.check().failures == (
        "sched: a: new: fs/z.c: warning: unused variable 'z'",
        "mm: b: new: mm/y.c: warning: old",
    )


def test_one_that_does_not_build_or_boot_does_not_hide_the_next(lab: Lab) -> None:
    lab.broken.add(2)
    lab.boots[3] = Outcome(failures=("zone 0 Normal: free",))
    (first, second) = eachstep.check().failures
    assert first.startswith("sched: a: building steps: make ended with status 2")
    assert second == "mm: b: zone 0 Normal: free"


def test_a_module_that_is_not_built(lab: Lab) -> None:
    (lab.top / "lib").mkdir()
    (lab.top / "lib/test_padata_mt.c").touch()
    assert eachstep.missing_modules(lab.top, {"test_padata_mt"}) == []
    assert "sched: a: no module test_padata_mt" in eachstep.check().failures


def test_deferred_init_is_told_by_stock_and_by_ours() -> None:
    case = eachstep.BOOT
    lines = ("node {} deferred pages initialised in 22ms", "node {} initialised, 100 pages in 2ms, 4 threads")
    for line in lines:
        for node, said in enumerate(case.says):
            assert re.search(said, line.format(node)) and not re.search(said, line.format(7))
