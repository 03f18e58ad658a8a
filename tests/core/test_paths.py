# SPDX-License-Identifier: GPL-2.0-only
"""Bases: which paths are those of the one in use, in this process and in what it starts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from padlab.core import paths

OTHER = "7.3"
NAMES = ("PATCHES", "RESULTS", "BUILD", "TREES", "LOGS", "BOOTS", "INITRAMFS")
SHOW = f"""
import json
from padlab.core import paths
print(json.dumps([paths.BASE, *(str(getattr(paths, name)) for name in {NAMES})]))
"""


def python(script: str, base: str | None = None) -> str:
    env = {name: value for name, value in os.environ.items() if name != paths.BASE_VARIABLE}
    env |= {paths.BASE_VARIABLE: base} if base is not None else {}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=paths.ROOT, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def shown(base: str | None = None, before: str = "") -> list[str]:
    name, *places = json.loads(python(before + SHOW, base))
    return [name, *(os.path.relpath(place, paths.ROOT) for place in places)]


IN_BUILD = ("/trees", "/logs", "/boots", "/initramfs")
DEFAULT = ["6.12", "patches", "results", *(f"build{name}" for name in ("", *IN_BUILD))]
MAINLINE = ["7.3", "bases/7.3/patches", "results/7.3", *(f"build/7.3{name}" for name in ("", *IN_BUILD))]


@pytest.mark.parametrize("base", [None, "", "9.9"])
def test_the_default_is_where_it_was(base: str | None) -> None:
    assert shown(base) == DEFAULT


def test_another_base_by_name() -> None:
    use = f"from padlab.core import paths\npaths.use_base({OTHER!r})\n"
    assert shown(before=use) == MAINLINE
    back = use + "paths.use_base('6.12')\n"
    assert shown(before=back) == DEFAULT


def test_what_is_started_has_the_base() -> None:
    script = f"""
from padlab.core import paths, process
import sys
paths.use_base({OTHER!r})
print(process.run([sys.executable, "-c", "from padlab.core import paths; print(paths.BASE)"], what="child"))
"""
    assert python(script).strip() == OTHER


def test_no_module_has_fixed_a_path_before_the_base_is_known() -> None:
    """What the command line imports before it has read --base."""
    script = """
import sys, json
from pathlib import Path
import padlab.cli
from padlab.core import paths
shared = {paths.SHARED, *(paths.SHARED / name for name in ("venv", "lint"))}
fixed = [
    f"{name}.{key}"
    for name, module in list(sys.modules.items())
    if name.startswith("padlab") and module is not paths
    for key, value in vars(module).items()
    if isinstance(value, Path) and value not in shared
    and any(value.is_relative_to(place) for place in (paths.BUILD, paths.RESULTS, paths.PATCHES))
]
print(json.dumps(fixed))
"""
    assert json.loads(python(script)) == []


def test_the_user_is_told_commands_that_work_here(
    monkeypatch: pytest.MonkeyPatch, default_base: None
) -> None:
    assert paths.command("tree --discard") == "./lab tree --discard"
    monkeypatch.setattr(paths, "BASE", OTHER)
    assert paths.command("tree --discard") == "./lab tree --discard --base 7.3"


def test_tables_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert paths.table("races.toml") == paths.CHECKS / "races.toml"
    monkeypatch.setattr(paths, "OWN", tmp_path)
    assert paths.table("races.toml") == paths.CHECKS / "races.toml"
    (tmp_path / "checks").mkdir()
    assert paths.over("races.toml") is None
    (tmp_path / "checks/races.toml").touch()
    assert paths.table("races.toml") == paths.over("races.toml") == tmp_path / "checks/races.toml"
