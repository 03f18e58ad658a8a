# SPDX-License-Identifier: GPL-2.0-only
"""Which warnings of random configurations and of other architectures are failures."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from checks.source import remarks, robot
from padlab.core.outcome import Outcome
from padlab.kernel import arch, otherconfigs, tree
from padlab.kernel.otherconfigs import OtherConfig

CONFIG = OtherConfig(arch.I386, "randconfig", 5)
WARNING = "../{}:3:5: warning: unused variable 'x'"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The kernels that objects are compiled of; the second file is the series' own."""
    for name in ("patched/mm/util.c", "patched/mm/folio_zero.c", "stock/mm/util.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(remarks, "touched", lambda *_: ["mm/folio_zero.c", "mm/gone.c", "mm/util.c"])
    monkeypatch.setattr(tree, "ensure_tree", lambda kernel: tmp_path / kernel)
    return []


def judged(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], said: dict[str, list[str]], fails: tuple[str, ...] = ()
) -> Outcome:
    def compile_objects(_: OtherConfig, kernel: str, files: Sequence[str]) -> tuple[list[str], list[str]]:
        asked.append(f"{kernel} {' '.join(files)}")
        return [name for name in files if said], [WARNING.format(name) for name in said.get(kernel, [])]

    monkeypatch.setattr(otherconfigs, "compile_objects", compile_objects)
    monkeypatch.setattr(otherconfigs, "is_compiled", lambda *of: of[2] not in fails)
    return robot.check(CONFIG)


def test_stock_is_not_asked_if_nothing_is_said(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    assert judged(monkeypatch, asked, {"patched": []}).passed == 1
    assert asked == ["patched mm/folio_zero.c mm/util.c"]


def test_only_what_stock_does_not_say_counts(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    said = {"patched": ["mm/util.c", "mm/folio_zero.c"], "stock": ["mm/util.c"]}
    assert judged(monkeypatch, asked, said).failures == ("mm/folio_zero.c: warning: unused variable 'x'",)
    assert asked[1:] == ["stock mm/util.c"]


def test_what_does_not_compile(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    """In stock either, is no fault of the series."""
    said: dict[str, list[str]] = {"patched": []}
    assert judged(monkeypatch, asked, said, ("mm/util.c",)).passed == 1
    failures = judged(monkeypatch, asked, said, ("mm/folio_zero.c",)).failures
    assert failures == ("mm/folio_zero.c: it does not compile",)


def test_nothing_compiled_is_a_failure(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    assert judged(monkeypatch, asked, {}).failures == ("no file of the series is compiled",)
