# SPDX-License-Identifier: GPL-2.0-only
"""The steps of the mailable series: their descriptions, and that everything is in exactly one of them."""

from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import coreedits, steps
from padlab.kernel.steps import Step
from tests.conftest import set_base, write

MESSAGE = (
    "# SPDX\nSubject: padata: new\nOwns: kernel/a.c\nOwns: tools/x/\nHook: a.patch\n\nThe problem.\n\nMore.\n"
)


class TestDescriptions:
    def test_parse(self) -> None:
        step = steps.parse_step("01-a.msg", MESSAGE)
        assert step.subject == "padata: new"
        assert step.owns == ("kernel/a.c", "tools/x/")
        assert step.edits == ("a.patch",)
        assert step.body == "The problem.\n\nMore.\n"

    def test_folders_stand_for_their_files(self) -> None:
        step = steps.expand(
            steps.parse_step("01-a.msg", MESSAGE), ["tools/x/run.sh", "tools/x/lib.sh", "tools/xy"]
        )
        assert step.owns == ("kernel/a.c", "tools/x/run.sh", "tools/x/lib.sh")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("Owns: a\n\nBody\n", "one Subject"),
            ("Subject: a\nSubject: b\n\nBody\n", "one Subject"),
            ("Subject: a\nOwn: a\n\nBody\n", "cannot read"),
            ("Subject: a\n", "no message"),
        ],
    )
    def test_bad(self, text: str, why: str) -> None:
        with pytest.raises(LabError, match=why):
            steps.parse_step("01-a.msg", text)


class TestCoverage:
    def test_everything_is_in_exactly_one_step(self) -> None:
        made = [Step("1", "s", ("a.c", "b.c"), ("x.patch",), "b"), Step("2", "s", ("b.c", "gone.c"), (), "b")]
        assert steps.coverage(made, {"a.c", "b.c", "new.c"}, {"x.patch", "y.patch"}) == [
            "linux/new.c: in no step",
            "linux/gone.c: does not exist",
            "linux/b.c: in 2 steps",
            "patches/y.patch: in no step",
        ]

    @pytest.mark.usefixtures("installed")
    def test_ours_cover_the_repository(self) -> None:
        made = steps.read_steps()
        assert len(made) > 1
        assert [name for step in made for name in step.edits] == coreedits.read_series(paths.base().patches)


@pytest.mark.usefixtures("installed")
class TestParts:
    """On a second base, whose series is cut into parts."""

    @pytest.fixture
    def base(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        own = tmp_path / "bases/7.3"
        set_base(monkeypatch, own=own, patches=own / "patches", build=tmp_path / "build")
        monkeypatch.setattr(paths, "LINUX", tmp_path / "linux")
        monkeypatch.setattr(steps, "STEPS", tmp_path / "series")
        write(tmp_path / "linux/a.c", "one\ntwo\n")
        write(tmp_path / "series/00-cover.msg", "Subject: all\n\nText.\n")
        write(tmp_path / "series/01-a.msg", "Subject: a\nOwns: a.c\n\nText.\n")
        write(own / "series/00-cover.msg", "# Each part has its own.\n")
        write(own / "series/parts.toml", '[[part]]\nname = "first"\nsteps = ["01-a.msg"]\n')
        write(own / "series/cover-first.msg", "Subject: the first\n\nText.\n")
        return own

    def test_have_messages_of_the_base_and_shared_ones(self, base: Path) -> None:
        (part,) = steps.read_parts()
        assert part.name == "1-first" and [step.subject for step in part.steps] == ["a"]
        assert steps.cover_letter(part).subject == "the first"

    def test_a_message_in_no_part(self, base: Path) -> None:
        write(base / "series/02-b.msg", "Subject: b\n\nText.\n")
        with pytest.raises(LabError) as error:
            steps.read_parts()
        assert error.value.detail == ["02-b.msg: in no part"]

    def test_a_message_in_two(self, base: Path) -> None:
        with (base / "series/parts.toml").open("a") as file:
            file.write('[[part]]\nname = "second"\nsteps = ["01-a.msg"]\n')
        write(base / "series/cover-second.msg", "Subject: the second\n\nText.\n")
        with pytest.raises(LabError) as error:
            steps.read_parts()
        assert error.value.detail == ["01-a.msg: in 2 parts", "linux/a.c: in 2 steps"]

    def test_one_that_is_not_there(self, base: Path) -> None:
        write(base / "series/parts.toml", '[[part]]\nname = "first"\nsteps = ["09-z.msg"]\n')
        with pytest.raises(LabError, match="no such message"):
            steps.read_parts()

    def test_without_a_cover_letter(self, base: Path) -> None:
        (part,) = steps.read_parts()
        (base / "series/cover-first.msg").unlink()
        with pytest.raises(LabError, match="no cover letter"):
            steps.cover_letter(part)
