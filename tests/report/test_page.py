# SPDX-License-Identifier: GPL-2.0-only
"""The report: of the recorded results, of some of them, and of none."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.measure.provenance import MissingError
from padlab.report import boots, charts, page, proof, recorded, threads
from padlab.report.charts import Bar, Point

RESULTS = paths.RECORDED  # of this clone, also where a test has others


def all_figures() -> list[page.Figure]:
    return [figure for _, of in page.figures() for figure in of]


@functools.cache
def of_clone() -> list[page.Figure]:
    """Those of this clone's results."""
    return all_figures()


@functools.cache
def page_of_clone() -> str:
    return page.html(page.figures())


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone without results."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "RECORDED", tmp_path / "results")
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def test_each_figure_names_its_command() -> None:
    for figure in of_clone():
        assert figure.sources or figure.missing, figure.key
        for source in figure.sources:
            assert re.search(r"\./lab \w+.*: results/\S+$", source), source


def test_each_figure_has_stock_beside_ours() -> None:
    for figure in of_clone():
        if figure.key not in ("timeline", "job", "proof"):
            assert "stock" in json.dumps([chart.spec for chart in figure.charts]), figure.key


def test_both_bases() -> None:
    for key in ("why", "pages", "parts", "machines", "native", "huge", "sizes", "starts"):
        figure = next(figure for figure in of_clone() if figure.key == key)
        assert {row[0] for row in figure.rows} == set(paths.bases()), key


def test_what_is_predicted_says_so() -> None:
    predicted = {figure.key for figure in of_clone() if figure.predicted}
    assert predicted == {"published", "large"}
    assert page_of_clone().count("predicted, not measured") == len(predicted)


def test_the_page_is_one_file() -> None:
    text = page_of_clone()
    assert len(text.encode()) < page.MAX_BYTES
    markup = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!#)', markup)
    for figure in of_clone():
        assert f'id="{figure.key}"' in markup


def test_without_results_the_page_says_which_commands_make_them(nothing: Path) -> None:
    figures = all_figures()
    assert not any(figure.charts for figure in figures)
    missing = {line for figure in figures for line in figure.missing}
    for command in (
        "./lab growth --large",
        "./lab growth --large --base 7.3",
        "./lab bench",
        "./lab bench hugepages",
        "./lab predict",
        "./lab timeline --huge-page",
        "./lab test --full",
    ):
        assert any(line.endswith(f": {command}") for line in missing), command
    assert page.tiles() == []
    text = page.html(page.figures())
    assert text.count("Left out, as ") == sum(len(figure.missing) for figure in figures)


def test_a_damaged_result_is_named(nothing: Path) -> None:
    (nothing / "growth.json").write_text("{")
    with pytest.raises(MissingError, match=r"growth.json is not JSON.*\./lab growth"):
        recorded.read(paths.DEFAULT_BASE, "growth.json", "growth --large")


def test_a_result_of_an_older_form_is_named(nothing: Path) -> None:
    (nothing / "growth.json").write_text('{"command": "./lab growth", "goals": 3}')
    assert page.tiles() == []
    for figure in boots.all_figures()[:3]:
        assert "results/growth.json has another form than today's: ./lab growth --large" in figure.missing


@pytest.mark.parametrize(
    ("text", "why"), [('{"machines": 3}', "has another form than today's"), ("{", "is not JSON")]
)
def test_of_several_cpus_only_the_file_that_cannot_be_used_is_left_out(
    nothing: Path, text: str, why: str
) -> None:
    good = (RESULTS / "cpus/amd-family-25-model-1/starts.json").read_text()
    for name, said in (("a", text), ("b", good)):
        (nothing / "cpus" / name).mkdir(parents=True)
        (nothing / "cpus" / name / "starts.json").write_text(said)
    figure = next(figure for figure in threads.all_figures() if figure.key == "starts")
    assert f"results/cpus/a/starts.json {why}: ./lab starts" in figure.missing
    assert figure.rows and "results/cpus/b/starts.json" in figure.sources[0]


@pytest.mark.parametrize("text", ["", "# command: ./lab predict\n", "machine,threads\n"])
def test_a_table_without_rows_is_named(nothing: Path, text: str) -> None:
    (nothing / "predict-large.csv").write_text(text)
    assert threads.large().missing == ("results/predict-large.csv has no rows: ./lab predict",)


def test_a_figure_of_zero_is_another_form(nothing: Path) -> None:
    text = json.dumps({"command": "./lab growth", "critical_ms": {"stock": {"a": 0}, "patched": {"a": 0}}})
    (nothing / "growth.json").write_text(text)
    assert page.tiles() == []


def test_a_result_that_cannot_be_read_is_named(nothing: Path) -> None:
    (nothing / "growth.json").mkdir()
    for figure in boots.all_figures()[:3]:
        assert any(line.startswith("results/growth.json cannot be read: ") for line in figure.missing)


@pytest.mark.parametrize("name", ["/dev/null", ""])
def test_what_is_no_file_is_not_replaced(nothing: Path, name: str) -> None:
    with pytest.raises(LabError, match="give the name of a file"):
        page.main(Path(name))
    assert Path("/dev/null").is_char_device()


def test_a_table_of_another_file_is_not_mixed_up(nothing: Path) -> None:
    (nothing / "predict-large.csv").write_text(
        "# command: ./lab predict\n"
        "machine,threads,published_ms,predicted_stock_ms,predicted_ours_ms\n"
        "1tib,1,,2297.3,1155.7\n1tib,2,,1177.9,598.8\n"
    )
    figure = threads.large()
    assert [chart.title for chart in figure.charts] == ["1 TiB"]
    assert figure.rows == (("1tib", "1", "2297.3", "1155.7"), ("1tib", "2", "1177.9", "598.8"))
    assert figure.sources == ("./lab predict: results/predict-large.csv",)


def test_of_proofs_only_those_that_there_are(nothing: Path) -> None:
    (nothing / "soak.json").write_text(json.dumps({"command": "./lab soak", "machines": 7, "equal": 6}))
    figure = proof.figure()
    assert figure.rows == (("random machines", "7 random machines, 6 with stock's memory map"),)
    assert len(figure.missing) == len(proof.KINDS) - 1


# Charts


def scales(spec: Any) -> Iterator[dict[str, Any]]:
    """Those that have colours."""
    if isinstance(spec, dict):
        if "range" in spec and "domain" in spec:
            yield spec
        for value in spec.values():
            yield from scales(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from scales(value)


def colors(spec: charts.Spec) -> dict[str, str]:
    scale = next(scales(spec))
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_stock_and_ours_have_their_colours_in_each_chart() -> None:
    points = [Point(kind, 1, 1) for kind in ("stock", "patched, waits", "patched")]
    found = colors(charts.lines(points, "x", "y"))
    assert found["stock"] == charts.STOCK
    assert found["patched"] == charts.PATCHED
    assert len(set(found.values())) == 3


def test_the_first_of_ours_has_the_colour_if_none_is_plain() -> None:
    bars = [Bar("1 GiB", kind, 1, "1") for kind in ("stock", "patched, 1 thread", "patched, 2 threads")]
    found = colors(charts.bars(bars, "x"))
    assert found["patched, 1 thread"] == charts.PATCHED
    assert found["patched, 2 threads"] in charts.CATEGORIES


def test_a_bar_leaves_room_for_its_figure() -> None:
    spec = json.dumps(charts.bars([Bar("a", "stock", 2, "2.00"), Bar("a", "patched", 1, "1.00 (0.50)")], "x"))
    assert '"domain": [0, 3.0]' in spec
