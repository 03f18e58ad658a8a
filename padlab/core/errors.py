# SPDX-License-Identifier: GPL-2.0-only
"""The one error type a user sees: what failed, why, and what to do about it."""

import sys
from pathlib import Path


class LabError(Exception):
    """A failure told to the user in one line.

    ``what`` names the step that failed, ``why`` the reason, ``todo`` what the user can do.  ``log`` is a kept
    log file and ``detail`` lines that belong below the message (compiler errors, the end of a console).
    ``status`` is what the command then exits with.
    """

    status = 1

    def __init__(
        self, what: str, why: str, todo: str, *, log: Path | None = None, detail: list[str] | None = None
    ) -> None:
        self.what = what
        self.why = why
        self.todo = todo
        self.log = log
        self.detail = detail or []
        super().__init__(f"{what}: {why}; {todo}")

    def line(self) -> str:
        sentence = f"lab: {self.what}: {self.why}. {self.todo[:1].upper()}{self.todo[1:]}."
        return " ".join(sentence.split())

    def tell(self) -> None:
        lines = [self.line(), *(f"  {line}" for line in self.detail)]
        if self.log:
            here = Path.cwd()
            lines.append(f"log: {self.log.relative_to(here) if self.log.is_relative_to(here) else self.log}")
        print("\n".join(lines), file=sys.stderr)


class AbsentError(LabError):
    """The package index has nothing that the base is made of, which is no fault of this commit."""

    status = 4  # as of kselftests that are skipped
