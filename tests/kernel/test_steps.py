# SPDX-License-Identifier: GPL-2.0-only
"""The steps of the mailable series: their descriptions, and that everything is in exactly one of them."""

from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import coreedits, steps
from tests.conftest import set_base, write, write_all

pytestmark = pytest.mark.usefixtures("installed")

MESSAGE = (
    "# SPDX\nSubject: padata: new\nOwns: kernel/a.c\nOwns: tools/x/\nHook: a.patch\n\nThe problem.\n\nMore.\n"
)


def test_parse() -> None:
    step = steps.parse_step("01-a.msg", MESSAGE)
    assert (step.subject, step.body) == ("padata: new", "The problem.\n\nMore.\n")
    assert (step.owns, step.edits) == (("kernel/a.c", "tools/x/"), ("a.patch",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Owns: a\n\nBody\n", "one Subject"),
        ("Subject: a\nSubject: b\n\nBody\n", "one Subject"),
        ("Subject: a\nOwn: a\n\nBody\n", "cannot read"),
        ("Subject: a\n", "no message"),
    ],
)
def test_bad_messages(text: str, why: str) -> None:
    with pytest.raises(LabError, match=why):
        steps.parse_step("01-a.msg", text)


def test_ours_cover_the_repository() -> None:
    made = steps.read_steps()
    assert len(made) > 1
    assert [name for step in made for name in step.edits] == coreedits.read_series(paths.base().patches)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A second base, whose series is cut into parts."""
    own = tmp_path / "bases/7.3"
    set_base(monkeypatch, own=own, patches=own / "patches", build=tmp_path / "build")
    monkeypatch.setattr(paths, "LINUX", tmp_path / "linux")
    monkeypatch.setattr(steps, "STEPS", tmp_path / "series")
    files = {
        "linux/a.c": "one\ntwo\n",
        "linux/tools/x/run.sh": "",
        "linux/tools/xy": "",
        "series/00-cover.msg": "Subject: all\n\nText.\n",
        "series/01-a.msg": "Subject: a\nOwns: a.c\nOwns: tools/x/\nOwns: tools/xy\n\nText.\n",
        "bases/7.3/series/00-cover.msg": "# Each part has its own.\n",
        "bases/7.3/series/parts.toml": '[[part]]\nname = "first"\nsteps = ["01-a.msg"]\n',
        "bases/7.3/series/cover-first.msg": "Subject: the first\n\nText.\n",
    }
    write_all(tmp_path, files)
    return own


def test_a_part_has_messages_of_the_base_and_shared_ones(base: Path) -> None:
    (part,) = steps.read_parts()
    assert part.name == "1-first" and [step.subject for step in part.steps] == ["a"]
    assert part.steps[0].owns == ("a.c", "tools/x/run.sh", "tools/xy")
    assert steps.cover_letter(part).subject == "the first"


SECOND = '[[part]]\nname = "first"\nsteps = ["01-a.msg"]\n[[part]]\nname = "second"\nsteps = ["{}"]\n'


@pytest.mark.parametrize(
    ("name", "text", "problems"),
    [
        ("series/02-b.msg", "Subject: b\n\nText.\n", ["02-b.msg: in no part"]),
        (
            *("series/parts.toml", SECOND.format("01-a.msg")),
            ["cover-second.msg: does not exist", "01-a.msg: in 2 parts"]
            + [f"linux/{name}: in 2 steps" for name in ("a.c", "tools/x/run.sh", "tools/xy")],
        ),
        (
            *("series/parts.toml", SECOND.format("09-z.msg")),
            ["09-z.msg: does not exist", "cover-second.msg: does not exist"],
        ),
        (
            *("series/01-a.msg", "Subject: a\nOwns: gone.c\nOwns: tools/\nHook: x.patch\n\nText.\n"),
            ["linux/a.c: in no step", "linux/gone.c: does not exist", "patches/x.patch: does not exist"],
        ),
        ("patches/series", "y.patch\n", ["patches/y.patch: in no step"]),
    ],
)
def test_everything_is_in_exactly_one_place(base: Path, name: str, text: str, problems: list[str]) -> None:
    write(base / name, text)
    with pytest.raises(LabError) as error:
        steps.read_parts()
    assert error.value.detail == problems
