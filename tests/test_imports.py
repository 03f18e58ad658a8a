# SPDX-License-Identifier: GPL-2.0-only
"""The rule of imports: each package of padlab knows only those before it, and there is no circle."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from padlab.core import paths

ORDER = ("core", "kernel", "vm", "measure", "kit", "docs", "checks")
MAX_LINES = 350
OURS = ("padlab", "checks")
PADLAB = paths.ROOT / "padlab"


def name_of(path: Path) -> str:
    """``padlab.core.paths`` for padlab/core/paths.py."""
    parts = path.relative_to(paths.ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# All modules of the lab, but for what runs in guests.
NAMES = {
    name_of(path): path
    for top in (PADLAB, paths.CHECKS)
    for path in sorted(top.rglob("*.py"))
    if path.relative_to(top).parts[0] != "guest"
}
MODULES = list(NAMES.values())


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith(OURS))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OURS):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in NAMES else str(node.module)


def package(module: str) -> str:
    """The package of a module, "" for those of padlab itself (the command line)."""
    parts = module.split(".")
    if parts[0] == "checks":
        return "checks"
    return parts[1] if len(parts) > 1 and parts[1] in ORDER else ""


@pytest.mark.parametrize("path", [path for path in MODULES if package(name_of(path))], ids=name_of)
def test_a_package_knows_only_those_before_it(path: Path) -> None:
    own = package(name_of(path))
    for name in imports(path):
        other = package(name)
        assert other, f"{own} imports {name}, which is not in a package"
        assert ORDER.index(other) <= ORDER.index(own), f"{own} imports {name}"


def test_no_circle() -> None:
    edges = {name: {other for other in imports(path) if other != name} for name, path in NAMES.items()}
    done: set[str] = set()
    while ready := {name for name in edges if name not in done and edges[name] <= done}:
        done |= ready
    left = {name: sorted(edges[name] - done) for name in edges if name not in done}
    assert not left, f"in or behind a circle: {left}"


def test_every_module_is_in_a_package() -> None:
    """Only the command line knows all packages."""
    assert {name for name in NAMES if not package(name) and not name.startswith("padlab.cli")} == {
        "padlab",
        "padlab.__main__",
    }


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_have_one_subject(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= MAX_LINES, f"{lines} lines, at most {MAX_LINES}"
