# SPDX-License-Identifier: GPL-2.0-only
"""Bases: what is started works on the chosen one, and lays its tables over those of all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from padlab.core import paths
from tests.conftest import set_base

OTHER = "7.3"


def python(script: str) -> str:
    env = os.environ | {paths.BASE_VARIABLE: ""}
    script = f"from padlab.core import paths\n{script}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=paths.ROOT, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_what_is_started_has_the_chosen_one() -> None:
    script = f"""
from padlab.core import process
import sys
paths.choose_base({OTHER!r})
print(process.run([sys.executable, "-c", "from padlab.core import paths; print(paths.base().name)"], what="x"))
"""
    assert python(script) == OTHER


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


def test_tables_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_base(monkeypatch, own=tmp_path)
    assert paths.table("races.toml") == paths.CHECKS / "races.toml"
    assert paths.over("races.toml") is None
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/races.toml").touch()
    assert paths.table("races.toml") == paths.over("races.toml") == tmp_path / "checks/races.toml"
