# SPDX-License-Identifier: GPL-2.0-only
"""What a boot costs after each part of the series: what is built and booted, and what it comes to."""

import json
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.kernel import steps, tree
from padlab.kernel.build import Build
from padlab.kernel.kconfig import PERF
from padlab.kernel.steps import Part, Step
from padlab.measure import parts
from padlab.measure.growth import Boots, Costs
from padlab.measure.phases import PHASES
from padlab.vm import boot
from tests.conftest import EXACT, set_base

GIB = 1 << 18  # its pages
FIRST = Step("01-a.msg", "a", ("a.c",), ("a.patch",), "Text.\n")
SECOND = Step("02-b.msg", "b", (), ("b.patch",), "Text.\n")


def costs(boot: float, deferred: float = 0.0, early: float = 0.0, pages: int | None = None) -> Costs:
    phases = {phase.name: 0.0 for phase in PHASES}
    phases |= {"deferred init": deferred, "struct pages, early": early, "memblock retires": early}
    return Costs(phases, boot, pages)


def boots(a_page: float, pages: bool) -> Boots:
    """Of a kernel with that many instructions a page, deferred or not, in a boot of a million others."""
    millions = {gib: a_page * gib * GIB / 1e6 for gib in (1, 3, 64, 256)}
    sizes = {
        gib: costs(1 + millions[gib], millions[gib], pages=gib * GIB if pages else None) for gib in (64, 256)
    }
    return Boots(sizes, {gib: costs(0, early=millions[gib] / 2) for gib in (1, 3)}, EXACT)


def test_no_kernel_says_its_pages() -> None:
    with pytest.raises(LabError, match="no kernel says"):
        parts.figures({"stock": boots(20, pages=False)})


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, frozenset[str] | None]]:
    """Two parts; what is booted, and what of the series it has."""
    booted: list[tuple[str, frozenset[str] | None]] = []

    def measure(ready: boot.Ready) -> Boots:
        variant = tree.VARIANTS.get(ready.build.kernel)
        booted.append((ready.build.kernel, variant.only if variant else None))
        return boots(30 - 10 * len(booted), pages=len(booted) > 2)

    def prepare(kernel: str) -> boot.Ready:
        return boot.Ready(Build(kernel, PERF, tmp_path, tmp_path, tmp_path, "1", "7.3.1-1"), tmp_path)

    set_base(monkeypatch, results=tmp_path)
    parts_of_it = [Part("1-a", "", (FIRST,), each=True), Part("2-b", "", (SECOND,))]
    monkeypatch.setattr(steps, "read_parts", lambda: parts_of_it)
    monkeypatch.setattr(parts.boot, "prepare", prepare)
    monkeypatch.setattr(parts, "measure", measure)
    monkeypatch.setattr(parts.provenance, "provenance", lambda *_args: {"command": "./lab record parts"})
    return booted


def test_each_has_the_parts_before_it(
    lab: list[tuple[str, frozenset[str] | None]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parts.main() == 0
    assert lab == [
        ("stock", None),
        (steps.TREE, {"a.c", "a.patch"}),
        (steps.TREE, {"a.c", "a.patch", "b.patch"}),
    ]
    figures = json.loads((tmp_path / "parts.json").read_text())["figures"]
    assert figures == {
        name: {"a deferred page": cost, "a page of the lower zones": cost, "boot to init, a GiB": cost * GIB}
        for name, cost in (("stock", 20.0), ("01-a", 10.0), ("1-a", 10.0), ("2-b", 0.0))
    }
    assert "a page of the lower zones" in capsys.readouterr().out


def test_a_series_without_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "read_parts", lambda: [Part("", "", (FIRST,))])
    with pytest.raises(LabError, match="has none"):
        parts.kernels()
