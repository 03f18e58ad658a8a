# SPDX-License-Identifier: GPL-2.0-only
"""TOML against a type: every fault is one line that names file, key, and what is expected there."""

from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from padlab.core import paths, toml
from padlab.core.errors import LabError


class Part(Struct, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1, le=2000000)]
    ratio: float = 1.0
    small: bool = False


class Whole(Struct, forbid_unknown_fields=True):
    name: str
    part: list[Part] = []
    more: dict[str, Part] = {}


def read(tmp_path: Path, text: str) -> Whole:
    (tmp_path / "file.toml").write_text(text)
    return toml.load(tmp_path / "file.toml", Whole)


def test_good(tmp_path: Path) -> None:
    whole = read(tmp_path, "name = 'n'\n[[part]]\ncount = 3\nratio = 2\n[more.x]\ncount = 4\n")
    assert whole == Whole("n", [Part(3, 2.0)], {"x": Part(4)})


PART = "name = 'n'\n[[part]]\ncount = 1\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "object missing required field `name`"),
        ("name = 3", "name: expected `str`, got `int`"),
        ("nam = 'n'\nname = 'n'", "object contains unknown field `nam`"),
        ("name = 'n'\n[[part]]\n", "part[0]: object missing required field `count`"),
        (PART + "[[part]]\ncount = 0", "part[1].count: expected `int` >= 1"),
        (PART + "[more.a]\ncount=1\n[more.b]\ncount='x'", "more.b.count: expected `int`, got `str`"),
        (PART + "[more]\na = 3", "more.a: expected `object`, got `int`"),
        ("name = ", "is not valid TOML: Invalid value (at end of document)"),
    ],
)
def test_faults(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(LabError) as error:
        read(tmp_path, text)
    assert (error.value.what, error.value.why) == ("file.toml", why)


def test_files_are_named_by_their_place_in_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LabError, match=r"^gone.toml: cannot be read: No such file or directory; "):
        toml.load(tmp_path / "gone.toml", Whole)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines/a.toml").write_text("x = 1\n")
    with pytest.raises(LabError, match=r"^machines/a.toml: "):
        toml.load(tmp_path / "machines/a.toml", Whole)


WHOLE = "name = 'n'\n[more.x]\ncount = 4\nsmall = true\n[more.y]\ncount = 5\n"


def laid_over(tmp_path: Path, over: str) -> Whole:
    for name, text in (("f", WHOLE), ("o", over)):
        (tmp_path / name).write_text(text)
    return toml.load(tmp_path / "f", Whole, tmp_path / "o")


def test_one_file_laid_over_another(tmp_path: Path) -> None:
    assert laid_over(tmp_path, "") == read(tmp_path, WHOLE)
    over = "name = 'm'\n[more]\ny = false\n[more.x]\nratio = 2\nsmall = false\n[more.z]\ncount = 6\n"
    assert laid_over(tmp_path, over) == Whole("m", [], {"x": Part(4, 2.0), "z": Part(6)})


@pytest.mark.parametrize(
    ("over", "why"),
    [
        ("[more.z]\nratio = 1\n", "f, and o over it: more.z: object missing required field `count`"),
        ("[more.x]\ncount = 0\n", "f, and o over it: more.x.count: expected `int` >= 1"),
        ("more = 3\n", "f, and o over it: more: expected `object`, got `int`"),
        ("[more]\nz = false\n", "o: more.z: there is no such table to leave out"),
        ("[more.x]\ncount = 4\n", "o: more.x.count is what it is without it"),
        ("name = n\n", "o: is not valid TOML"),
    ],
)
def test_faults_of_a_file_over_another(tmp_path: Path, over: str, why: str) -> None:
    with pytest.raises(LabError) as error:
        laid_over(tmp_path, over)
    assert why in error.value.line()
