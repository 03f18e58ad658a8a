# SPDX-License-Identifier: GPL-2.0-only
"""Kernel configurations: which fragments of configs/ each is merged from, and what came out.

A fragment of the same name in the base's own folder is merged after that of configs/, and
has what the base's Linux calls otherwise.
"""

from __future__ import annotations

import re
from pathlib import Path

from padlab.core import paths
from padlab.kernel import arch as archs

CONFIGS: dict[str, tuple[str, ...]] = {
    "perf": ("perf.config",),
    "debug": ("perf.config", "debug.config"),
    "rt": ("perf.config", "debug.config", "rt.config"),
    "kasan": ("perf.config", "kasan.config"),
    "features": ("perf.config", "features.config"),
    "sparse": ("perf.config", "sparse.config"),
    "nomemcg": ("perf.config", "nomemcg.config"),
    "nosplit": ("perf.config", "debug.config", "nosplit.config"),
    "outside": ("perf.config", "outside.config"),
    "gdb": ("perf.config", "gdb.config"),
    "users": ("perf.config", "users.config"),
    "arm64": ("perf.config",),
    "kcsan": ("perf.config", "kcsan.config"),
    "gcov": ("perf.config", "gcov.config"),
}
# Options that stock does not have.  patched-NAME.config has more, if NAME.config is merged.
PATCHED_FRAGMENT = "patched.config"
UNKNOWN = "not available"


def fragments_of(config: str, series: bool) -> list[Path]:
    """The files that ``config`` is merged from, of a kernel that has the series or has not."""
    fragments = [paths.CONFIGS / name for name in (archs.of_config(config).fragment, *CONFIGS[config])]
    if series:
        more = [path.with_name(f"patched-{path.name}") for path in fragments]
        fragments += [paths.CONFIGS / PATCHED_FRAGMENT, *filter(Path.exists, more)]
    return [path for fragment in fragments for path in (fragment, *_own(fragment.name))]


def _own(name: str) -> list[Path]:
    own = paths.OWN / "configs" / name if paths.OWN else None
    return [own] if own and own.exists() else []


def kunit_config(name: str) -> Path:
    """The options that kunit.py is given, in one file: what the base has otherwise is merged into it."""
    shared, own = paths.CONFIGS / name, _own(name)
    if not own:
        return shared
    options = parse_config(shared.read_text()) | parse_config(own[0].read_text())
    merged = paths.BUILD / "configs" / name
    merged.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        f"# {key} is not set\n" if value == "n" else f"{key}={value}\n" for key, value in options.items()
    )
    merged.write_text("".join(lines))
    return merged


def parse_config(text: str) -> dict[str, str]:
    """option -> value of a .config or fragment; "n" when it says "is not set"."""
    options = {}
    for line in text.splitlines():
        if match := re.match(r"^(CONFIG_\w+)=(.*)$", line):
            options[match[1]] = match[2]
        elif match := re.match(r"^# (CONFIG_\w+) is not set$", line):
            options[match[1]] = "n"
    return options


def lost_options(fragments: list[str], config: str) -> list[str]:
    """The options that ``config`` does not have as ``fragments`` ask; a later fragment wins."""
    wanted: dict[str, str] = {}
    for fragment in fragments:
        wanted |= parse_config(fragment)
    got = parse_config(config)
    return [
        f"{name}: {value} asked for, {got.get(name, UNKNOWN)} came out"
        for name, value in wanted.items()
        if got.get(name, "n") != value
    ]
