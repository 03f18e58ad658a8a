# SPDX-License-Identifier: GPL-2.0-only
"""Which modules of the lab import which, by their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from padlab.core import paths
from padlab.core.once import once

PADLAB = paths.ROOT / "padlab"


def name_of(path: Path) -> str:
    """``padlab.core.paths`` for padlab/core/paths.py."""
    parts = path.relative_to(paths.ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@once
def modules() -> Mapping[str, Path]:
    """All of the lab's, but for what runs in guests."""
    files = sorted(path for path in PADLAB.rglob("*.py") if path.relative_to(PADLAB).parts[0] != "guest")
    return {name_of(path): path for path in files}


def imports(path: Path) -> Iterator[str]:
    """The modules of padlab that ``path`` imports, wherever in it: for type checkers only, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("padlab"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("padlab"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else str(node.module)


@once
def closure(module: str) -> frozenset[str]:
    """``module``, and all that it imports, itself or through others."""
    done: set[str] = set()
    left = {module}
    while left:
        name = left.pop()
        if name in modules() and name not in done:
            done.add(name)
            left.update(imports(modules()[name]))
    return frozenset(done)
