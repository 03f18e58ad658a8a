# SPDX-License-Identifier: GPL-2.0-only
"""Where things are.  Everything generated is under build/ or in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

LINUX = ROOT / "linux"  # files the series owns, at their kernel paths
PATCHES = ROOT / "patches"  # hooks, a quilt series
CONFIGS = ROOT / "configs"
MACHINES = ROOT / "machines"
RESULTS = ROOT / "results"
TESTS = ROOT / "tests"

BUILD = ROOT / "build"
TREES = BUILD / "trees"  # kernel trees: stock, patched, faulty
LOGS = BUILD / "logs"
BOOTS = BUILD / "boots"  # one folder per boot: command line, console log, result
INITRAMFS = BUILD / "initramfs"

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "padata-mt"
DOWNLOADS = CACHE / "downloads"
CCACHE = CACHE / "ccache"
