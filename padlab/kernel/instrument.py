# SPDX-License-Identifier: GPL-2.0-only
"""Which files of the kernel a compiler instruments, where its configuration cannot say that."""

from __future__ import annotations

from pathlib import Path

from padlab.core import paths
from padlab.kernel import hooktable
from padlab.kernel.owned import owned_files

# Files are named to the compiler by their stem, and so is the main.c of x86's setup code, which
# is not linked with the kernel.  A line that every boot runs is all that hooks add here.
_NOT_COUNTED = {"init/main.c"}


def settings(config: str) -> tuple[str, ...]:
    """Variables for make.  The scheduler's files are left out of KCSAN, but for ours."""
    if config == "gcov":
        return tuple(f"GCOV_PROFILE_{stem}.o=y" for stem in sorted({Path(file).stem for file in counted()}))
    return ("KCSAN_SANITIZE_charge.o=y",) if config == "kcsan" else ()


def counted() -> list[str]:
    """The C files whose lines gcov counts: ours, and those that hooks add lines to."""
    hooked = {hook.file for hook in hooktable.read(paths.PATCHES) if hook.added} - _NOT_COUNTED
    return sorted(file for file in {*owned_files(), *hooked} if file.endswith(".c") and not is_test(file))


def is_test(file: str) -> bool:
    return file.startswith("tools/") or Path(file).stem.startswith("test_") or "_kunit" in file
