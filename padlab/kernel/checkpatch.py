# SPDX-License-Identifier: GPL-2.0-only
"""scripts/checkpatch.pl --strict on the mailable series; a patch that was clean is not looked at again."""

import re
from pathlib import Path

from padlab.core import packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel.content import digest, fingerprint

_CLEAN = paths.BUILD / "checkpatch"  # a stamp for each patch that checkpatch had no remark on
# checkpatch asks for a MAINTAINERS change in each patch that adds a file; the
# series has one entry, in its last step, which covers them all.
IGNORE = ("FILE_PATH_CHANGES",)
# It learns the kernel's own CamelCase names from headers, but those of the page
# flags' accessors are pasted together by macros there.
_PAGE_FLAGS = re.compile(r"CAMELCASE: Avoid CamelCase: <_*(Set|Clear)?Page[A-Z]\w+>$")
# The userspace build has to have LIST_HEAD() and list_for_each_entry(), which use their
# arguments as often in <linux/list.h>.
_LIST_MACROS = re.compile(r"MACRO_ARG_REUSE: Macro argument reuse '(name|pos|head|member)'")


def check(top: Path, mails: list[Path]) -> None:
    """Run scripts/checkpatch.pl --strict on the patches; any remark is an error.

    It takes a second for each: one that it has found clean before is not looked at again.
    """
    packages.ensure("build")
    stamps = {mail: _CLEAN / _key(top, mail) for mail in mails}
    unknown = [mail for mail in mails if not stamps[mail].exists()]
    _CLEAN.mkdir(parents=True, exist_ok=True)
    if unknown:
        _run(top, unknown)
    for stamp in stamps.values():
        stamp.touch()
    progress.note(f"{len(mails)} patches: git am gives the patched tree, checkpatch --strict is clean")


def _key(top: Path, mail: Path) -> str:
    """Of the patch without its author, date and commit, and of the script with its word lists."""
    text = mail.read_text()
    names = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
    scripts = (fingerprint(top / "scripts" / name) or "" for name in names)
    return digest([text[text.index("\nSubject: ") :], *IGNORE, *scripts])


def _run(top: Path, mails: list[Path]) -> None:
    command = ["perl", top / "scripts/checkpatch.pl", f"--root={top}", "--strict", "--no-summary", "--terse"]
    command += [f"--ignore={','.join(IGNORE)}", "--show-types", *mails]
    # It leaves a cache of names in its current directory.
    output = process.run(command, what="checkpatch", ok=(0, 1), cwd=_CLEAN, log=paths.LOGS / "checkpatch.log")
    remarks = [
        line
        for line in output.splitlines()
        if re.search(r": (ERROR|WARNING|CHECK):", line)
        and not (_PAGE_FLAGS.search(line) or _LIST_MACROS.search(line))
    ]
    if remarks:
        why = f"{len(remarks)} remarks on the series"
        todo = "correct what it says"
        raise LabError("checkpatch", why, todo, log=paths.LOGS / "checkpatch.log", detail=remarks)
