# SPDX-License-Identifier: GPL-2.0-only
"""C programs for the guest, which has no libraries: built on the host, static."""

from __future__ import annotations

import os
from pathlib import Path

from padlab import hostpkgs, paths, run, tree

_PLACE = paths.BUILD / "programs"
_FLAGS = ("-O2", "-Wall", "-Wextra", "-static", "-pthread")


def static(source: Path) -> bytes:
    """The program that ``source`` is, built if it changed."""
    program = _PLACE / f"{source.stem}-{tree.digest([tree.fingerprint(source)])[:16]}"
    if not program.exists():
        hostpkgs.ensure("build")
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(f".{os.getpid()}.partial")
        command = ["gcc", *_FLAGS, "-o", partial, source]
        run.run(command, what=f"building {source.name}", log=paths.LOGS / f"program-{source.stem}.log")
        partial.rename(program)
    return program.read_bytes()
