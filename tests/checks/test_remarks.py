# SPDX-License-Identifier: GPL-2.0-only
"""Remarks of compilers and checkers: told apart by file and text, and new ones are failures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from checks.source import checkers, remarks
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.kernel import mailseries, tree
from padlab.kernel.build import Build
from padlab.kernel.kconfig import DEBUG, Config
from padlab.kernel.steps import Step
from tests.conftest import set_base, write, write_all

TOP = Path("/trees/patched")
OUTPUT = f"""\
  CC      mm/page_alloc.o
../mm/page_alloc.c: In function 'early':
../mm/page_alloc.c:3:5: warning: unused variable 'x' [-Wunused-variable]
    3 | int x;
../kernel/sched/sched.h:2015: warning: No description found for return value of 'f'
  CHECK   ../mm/hugetlb.c
../mm/hugetlb.c:100:9: warning: context imbalance in 'g' - wrong count at exit
{TOP}/Documentation/core-api/padata.rst:101: WARNING: Inline emphasis start-string without end-string.
WARNING: dot(1) not found, for better output quality install graphviz
/usr/bin/spatch -D report --cocci-file kfree.cocci
{TOP}/mm/shmem.c:1480:6-25: WARNING: atomic_dec_and_test variation before object free at line 1461.
{TOP}/mm/memmap_bulk.c:7:1-2: opportunity for min()
mm/folio_zero.o: warning: objtool: folio_zero+0x2c: call to f() with UACCESS enabled
WARNING: unmet direct dependencies detected for PADATA
  Depends on [n]: SMP [=n]
"""


def test_parse() -> None:
    assert remarks.parse(OUTPUT.splitlines(), TOP) == {
        "mm/page_alloc.c: warning: unused variable 'x' [-Wunused-variable]",
        "kernel/sched/sched.h: warning: No description found for return value of 'f'",
        "mm/hugetlb.c: warning: context imbalance in 'g' - wrong count at exit",
        "Documentation/core-api/padata.rst: WARNING: Inline emphasis start-string without end-string.",
        "mm/shmem.c: WARNING: atomic_dec_and_test variation before object free at another line.",
        "mm/memmap_bulk.c: opportunity for min()",
        "mm/folio_zero.o: warning: objtool: folio_zero at another place: call to f() with UACCESS enabled",
        "PADATA: unmet direct dependencies detected for PADATA",
    }


GUARDED = """\
static void f(void);

static void f(void)
{
	guard(spinlock)(&lock);
	g();
}

int g(int a,
      int b)
{
	spin_lock(&lock);
	return a;
}

static void h(void)
{
	scoped_guard(raw_spinlock_irqsave, &lock)
		f();
}
"""


@pytest.mark.parametrize(("function", "known"), [("f", True), ("g", False), ("h", True), ("i", False)])
def test_sparse_does_not_know_guards(tmp_path: Path, function: str, known: bool) -> None:
    (tmp_path / "a.c").write_text(GUARDED)
    remark = f"a.c: warning: context imbalance in '{function}' - wrong count at exit"
    assert remarks._of_a_guard(remark, tmp_path) is known
    assert not remarks._of_a_guard("a.c: warning: unused variable 'f'", tmp_path)


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stock and patched trees of a file that both have, and one that is ours."""
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(tree, "ensure_tree", lambda kernel: tmp_path / kernel)
    monkeypatch.setattr(mailseries, "touched_files", lambda: {"mm/old.c", "mm/new.c", "mm/Makefile"})
    monkeypatch.setattr(checkers.packages, "ensure", lambda *groups: None)
    write_all(tmp_path, dict.fromkeys(("stock/mm/old.c", "patched/mm/old.c", "patched/mm/new.c"), ""))
    return tmp_path


KERNEL_DOC = """#!/bin/sh
[ "$1 $2" = "-none -Wall" ] || exit 1
for file in "$@"; do grep -Hn warning "$file" | sed 's/:warning/: warning/'; done
"""


def test_kernel_doc(trees: Path) -> None:
    for kernel in ("stock", "patched"):
        write(trees / kernel / "scripts/kernel-doc", KERNEL_DOC, 0o755)
        (trees / kernel / "mm/old.c").write_text("warning: old\n")
    assert checkers.check("kernel-doc").passed == 1
    (trees / "patched/mm/new.c").write_text("\nwarning: no description\n")
    assert checkers.check("kernel-doc").failures == ("mm/new.c: warning: no description",)


COCCICHECK = """#!/bin/sh
[ "$MODE $(basename $srctree)" = "report $(basename $KBUILD_EXTMOD)" ] || exit 1
echo "/usr/bin/spatch $COCCI"
grep -rHn "$(cat "$COCCI")" "$KBUILD_EXTMOD" | sed 's/\\(:[0-9]*\\):.*/\\1:1-2: WARNING: it is there/'
:
"""


def test_coccinelle(trees: Path) -> None:
    for kernel in ("stock", "patched"):
        write(trees / kernel / "scripts/coccicheck", COCCICHECK, 0o755)
        rules = {"a": "virtual report$", "b": "virtual org", "c": ":ocaml virtual report too"}
        for rule, text in rules.items():
            write(trees / kernel / f"scripts/coccinelle/api/{rule}.cocci", text, 0o755)
    assert checkers.check("coccinelle").passed == 1
    for name in ("stock/mm/old.c", "patched/mm/old.c"):
        (trees / name).write_text("virtual report\n")
    (trees / "patched/mm/new.c").write_text("virtual org\n:ocaml virtual report too\n")  # of other rules
    assert checkers.check("coccinelle").passed == 1
    (trees / "patched/mm/new.c").write_text("virtual report\n")
    assert checkers.check("coccinelle").failures == ("mm/new.c: WARNING: it is there",)


def test_htmldocs(trees: Path) -> None:
    rule = "htmldocs:\n\t@echo $(CURDIR)/core-api/a.rst:1: WARNING: $(SPHINXDIRS)\n"
    (trees / "patched/Makefile").write_text(rule)
    (trees / "stock/Makefile").write_text(rule)
    assert checkers.check("htmldocs").passed == 1
    (trees / "patched/Makefile").write_text(rule + "\t@echo $(CURDIR)/core-api/b.rst:9: ERROR: x\n")
    assert checkers.check("htmldocs").failures == ("core-api/b.rst: ERROR: x",)


STEPS = [
    Step("01-a.msg", "sched: a", ("kernel/a.c",), ("a.patch",), "Text.\n"),
    Step("02-b.msg", "mm: b", (), ("b.patch",), "Text.\n"),
]


def test_objects_that_a_kernel_has_are_compiled_in_stock_and_ours(
    trees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"mm/old.c": "../mm/old.c:1:1: warning: old", "mm/new.c": "../mm/new.c:1:1: warning: new"}
    asked: list[Sequence[str]] = []

    def objects(kernel: str, config: Config, files: Sequence[str], variables: Sequence[str]) -> list[str]:
        assert (kernel, config) == (remarks.TREE, DEBUG)
        asked.append(files)
        return [said[name] for name in files]

    monkeypatch.setattr(remarks, "have", lambda done: trees / ("patched" if done else "stock"))
    monkeypatch.setattr(remarks.steps, "read_steps", lambda: STEPS)
    monkeypatch.setattr(remarks.builds, "objects", objects)
    monkeypatch.setattr(remarks.builds, "is_built", lambda *_args: True)
    monkeypatch.setattr(remarks.guests, "built", lambda *_args: None)
    assert remarks.compilers(DEBUG).failures == ("mm/new.c: warning: new",)
    assert asked == [["mm/old.c"], ["mm/new.c", "mm/old.c"]]
    monkeypatch.setattr(remarks.builds, "is_built", lambda _kernel, _config, name: name == "mm/old.c")
    assert remarks.compilers(DEBUG).passed == 1


@dataclass
class Lab:
    """What kernels of no, one and two steps say and do."""

    top: Path
    count: int = 0
    builds: dict[int, str] = field(default_factory=dict)
    remarks: dict[int, set[str]] = field(default_factory=dict)
    boots: dict[int, Outcome] = field(default_factory=dict)

    def have(self, done: Sequence[Step]) -> Path:
        assert list(done) == STEPS[: len(done)]
        self.count = len(done)
        return self.top

    def build(self, kernel: str, config: Config) -> Build:
        if self.builds.get(self.count) == "broken":
            raise LabError(f"building {kernel}", "make ended with status 2", "fix the source")
        write(paths.base().logs / f"build-{kernel}-{config}.log", self.builds.get(self.count, ""))
        return Build(kernel, config, self.top, self.top / "obj-perf", self.top, "1", "6.12.1")

    def said(self, _config: Config, done: Sequence[Step]) -> set[str]:
        return {"mm/x.c: warning: old"} | self.remarks.get(len(done), set())

    def boot(self, _case: object, _kernel: str) -> Outcome:
        return self.boots.get(self.count, Outcome(1))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    fake = Lab(tmp_path)
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(remarks, "have", fake.have)
    monkeypatch.setattr(remarks, "said", fake.said)
    monkeypatch.setattr(remarks.packages, "ensure", lambda *groups: None)
    monkeypatch.setattr(remarks.guests, "built", fake.build)
    monkeypatch.setattr(remarks.memmap, "case", fake.boot)
    monkeypatch.setattr(remarks.steps, "read_steps", lambda: STEPS)
    return fake


def test_a_new_warning(lab: Lab) -> None:
    assert remarks.each_step().passed == 2
    lab.remarks[2] = {"mm/y.c: warning: old"}
    lab.builds[1] = "../fs/z.c:1:1: warning: unused variable 'z'\n"
    assert remarks.each_step().failures == (
        "sched: a: new: fs/z.c: warning: unused variable 'z'",
        "mm: b: new: mm/y.c: warning: old",
    )


def test_one_that_does_not_build_or_boot_does_not_hide_the_next(lab: Lab) -> None:
    lab.builds[1] = "broken"
    lab.boots[2] = Outcome(failures=("zone 0 Normal: free",))
    (first, second) = remarks.each_step().failures
    assert first.startswith("sched: a: building steps: make ended with status 2")
    assert second == "mm: b: zone 0 Normal: free"


def test_a_module_that_is_not_built(lab: Lab) -> None:
    write(lab.top / "kernel/test_padata_mt.c", "")
    assert remarks.missing_modules(lab.top, {"test_padata_mt"}) == []
    assert "sched: a: no module test_padata_mt" in remarks.each_step().failures


def test_deferred_init_is_told_by_stock_and_by_ours() -> None:
    for line in ("node {} deferred pages initialised in 22ms", "node {} initialised, 100 pages in 2ms"):
        for node, said in enumerate(remarks.BOOT.says):
            assert re.search(said, line.format(node)) and not re.search(said, line.format(7))
