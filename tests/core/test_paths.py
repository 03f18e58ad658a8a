# SPDX-License-Identifier: GPL-2.0-only
"""Bases: which one a process works on, what it starts, and where the files of each are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from tests.conftest import set_base

OTHER = "7.3"


def python(script: str, base: str = "") -> str:
    env = os.environ | {paths.BASE_VARIABLE: base}
    script = f"from padlab.core import paths\n{script}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=paths.ROOT, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("6.12", ["patches", "results", "build", "build/trees", "build/logs"]),
        ("7.3", ["bases/7.3/patches", "results/7.3", "build/7.3", "build/7.3/trees", "build/7.3/logs"]),
    ],
)
def test_where_each_has_its_files(name: str, places: list[str]) -> None:
    base = paths.Base.named(name)
    assert places == [
        paths.shown(path) for path in (base.patches, base.results, base.build, base.trees, base.logs)
    ]


def test_one_that_is_not_there() -> None:
    with pytest.raises(LabError, match="there is no '9.9'; choose one of: 6.12, 7.3"):
        paths.Base.named("9.9")


def test_is_that_of_the_environment_or_the_default() -> None:
    assert python("print(paths.base().name)") == "6.12"
    assert python("print(paths.base().name)", OTHER) == OTHER


def test_what_is_started_has_the_chosen_one() -> None:
    script = f"""
from padlab.core import process
import sys
paths.choose_base({OTHER!r})
print(process.run([sys.executable, "-c", "from padlab.core import paths; print(paths.base().name)"], what="x"))
"""
    assert python(script) == OTHER


def test_does_not_change_once_it_is_in_use() -> None:
    script = f"""
paths.base()
try:
    paths.choose_base({OTHER!r})
except AssertionError as error:
    print(error)
"""
    assert python(script) == "base 6.12 is in use already"


def test_no_module_asks_for_it_when_it_is_imported() -> None:
    """The command line reads --base after that."""
    modules = [
        ".".join(path.relative_to(paths.ROOT).with_suffix("").parts)
        for path in (paths.ROOT / "padlab").rglob("*.py")
        if path.name != "__main__.py"
    ]
    script = f"""
import importlib
for name in {modules}:
    importlib.import_module(name)
    assert not paths.base.cache_info().currsize, name
"""
    python(script)


def test_the_user_is_told_commands_that_work_here(
    monkeypatch: pytest.MonkeyPatch, default_base: None
) -> None:
    assert paths.command("tree --discard") == "./lab tree --discard"
    set_base(monkeypatch, OTHER)
    assert paths.command("tree --discard") == "./lab tree --discard --base 7.3"


def test_tables_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_base(monkeypatch, own=tmp_path)
    assert paths.table("races.toml") == paths.CHECKS / "races.toml"
    assert paths.over("races.toml") is None
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/races.toml").touch()
    assert paths.table("races.toml") == paths.over("races.toml") == tmp_path / "checks/races.toml"
