# SPDX-License-Identifier: GPL-2.0-only
"""Configurations that only objects are compiled with, and which warnings with them are failures."""

from pathlib import Path

import pytest

from checks.source import remarks, robot
from checks.source.robot import OtherConfig
from padlab.core.outcome import Outcome
from padlab.kernel import arch, tree
from tests.conftest import set_base, write, write_all

DRY_RUN = """\
make[1]: Entering directory '/x/obj-other-x86_64'
make -f ../scripts/Makefile.build obj=mm need-builtin=1
echo '  CC      mm/util.o'; gcc -Wp,-MMD,mm/.util.o.d -c -o mm/util.o ../mm/util.c   ; objtool mm/util.o
set -e;  echo '  CC [M]  lib/test_padata_mt.o';  ccache gcc -DMODULE -c -o lib/test_padata_mt.o ../lib/test_padata_mt.c
set -e;  echo '  AS      lib/x.o';  gcc -c -o lib/x.o ../lib/x.S
rm -f mm/built-in.a;  printf "mm/%s " util.o fork.o | xargs ar cDPrST mm/built-in.a
gcc -o scripts/x ../scripts/x.c
"""


def test_what_make_would_compile() -> None:
    assert robot.compiled(DRY_RUN) == {"mm/util.c", "lib/test_padata_mt.c"}


def test_each_seed_has_a_name_and_some_are_of_32_bits() -> None:
    names = [str(config) for config in robot.RANDOM]
    assert names[0] == "seed 1, x86_64" and names[4] == "seed 5, i386"
    assert len(set(names)) == len({config.log("stock") for config in robot.RANDOM}) == len(names)


class Lab:
    """Trees of two files, the second of which is the series' own, and what a make of them does."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.compiled = ["mm/util.c", "mm/folio_zero.c"]
        self.said: dict[str, list[str]] = {}
        self.fails = ""
        self.asked: list[str] = []

    def make(
        self, config: OtherConfig, kernel: str, _what: str, arguments: list[str], *_ok: object
    ) -> list[str]:
        self.asked.append(" ".join([kernel, *arguments]))
        if "-nk" in arguments:
            return [f"gcc -o {name[:-2]}.o ../{name}" for name in self.compiled]
        for name in arguments[1:]:
            if name != self.fails:
                write(config.obj(kernel) / name, "")
        return [f"../{name}:3:5: warning: unused variable 'x'" for name in self.said.get(kernel, [])]

    def judged(self) -> Outcome:
        return robot.check(OtherConfig(arch.I386, "randconfig", 5))


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lab:
    fake = Lab(tmp_path)
    names = ("patched/mm/util.c", "patched/mm/folio_zero.c", "patched/tools/x.c", "stock/mm/util.c")
    write_all(tmp_path / "trees", dict.fromkeys(names, ""))
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(tree, "ensure_tree", lambda kernel: tmp_path / "trees" / kernel)
    monkeypatch.setattr(robot.packages, "ensure", lambda *groups: None)
    touched = ["mm/folio_zero.c", "mm/gone.c", "mm/util.c", "tools/x.c"]
    monkeypatch.setattr(remarks, "touched", lambda *_: touched)
    monkeypatch.setattr(robot, "_configure", lambda *_: [])
    monkeypatch.setattr(robot, "_make", fake.make)
    return fake


def test_stock_is_not_asked_if_nothing_is_said(lab: Lab) -> None:
    assert lab.judged().passed == 1
    assert lab.asked == ["patched -nk -j1 mm/", "patched -k mm/folio_zero.o mm/util.o"]


def test_only_what_stock_does_not_say_counts(lab: Lab) -> None:
    lab.said = {"patched": ["mm/util.c", "mm/folio_zero.c"], "stock": ["mm/util.c"]}
    assert lab.judged().failures == ("mm/folio_zero.c: warning: unused variable 'x'",)
    assert lab.asked[2:] == ["stock -nk -j1 mm/", "stock -k mm/util.o"]


def test_what_does_not_compile(lab: Lab) -> None:
    """In stock either, is no fault of the series."""
    lab.fails = "mm/util.o"
    assert lab.judged().passed == 1
    lab.fails = "mm/folio_zero.o"
    assert lab.judged().failures == ("mm/folio_zero.c: it does not compile",)


def test_nothing_compiled_is_a_failure(lab: Lab) -> None:
    lab.compiled = []
    assert lab.judged().failures == ("no file of the series is compiled",)
