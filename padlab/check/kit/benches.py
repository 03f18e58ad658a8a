# SPDX-License-Identifier: GPL-2.0-only
"""The native benches of the base in use, linked statically, put into a folder: a program of its own.

A process is on one base, and a kit has the benches of all.
"""

import shutil
import sys
from pathlib import Path

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import native, source, tree
from padlab.measure import structpages, zeroing

PROGRAMS = {"memmap_bench": structpages.TOOL, "zero_bench": zeroing.TOOL}


def main(folder: Path) -> None:
    for program, tool in PROGRAMS.items():
        apart = native.Tool(tool.folder, tool.sources, "-static")
        shutil.copy(native.make(apart, program, "STATIC=1"), folder / f"{program}-{paths.BASE}")
    (folder / f"source-{paths.BASE}").write_text(source.name_of(tree.source_version()))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except LabError as err:
        print(err.line(), *err.detail, sep="\n")
        sys.exit(err.status)
