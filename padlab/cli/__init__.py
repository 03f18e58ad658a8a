# SPDX-License-Identifier: GPL-2.0-only
"""The command line.  Commands import what they need when they run, so that --help is quick."""

import errno
import os
import sys
from pathlib import Path
from typing import NoReturn

import click

# Each adds its commands to the group.
from padlab.cli import machine, measure, test, tree  # noqa: F401
from padlab.cli.shared import cli
from padlab.core import paths, process
from padlab.core.errors import LabError


def show(error: LabError) -> None:
    """A failure as the user sees it: one line, what belongs below it, and the log."""
    print(error.line(), file=sys.stderr)
    for line in error.detail:
        print(f"  {line}", file=sys.stderr)
    if error.log:
        log = os.path.relpath(error.log) if error.log.is_relative_to(paths.ROOT) else error.log
        print(f"log: {log}", file=sys.stderr)


# What to do about a file that cannot be used, by what the system says of it.
_TODO = {
    errno.ENOSPC: "free some space on the disk",
    errno.EDQUOT: "free some space on the disk",
    errno.EACCES: "see who owns it",
    errno.EPERM: "see who owns it",
    errno.EROFS: "use a file system that can be written",
}


def of_file(error: OSError) -> LabError:
    """A failure of the system that nothing closer to it has explained."""
    name = str(error.filename or "files")
    todo = _TODO.get(error.errno or 0, "check the path and the disk")
    if error.errno == errno.ENOENT and not Path(name).parent.exists():
        todo = "make the folder that it is to be in"
    return LabError(name, error.strerror or str(error), todo)


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command; the process ends here, with its status."""
    process.interrupt_on_signals()
    sys.exit(_run(args))


def _run(args: list[str] | None) -> int:
    try:
        return cli.main(args, "./lab", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LabError as error:
        show(error)
        return error.status
    except (KeyboardInterrupt, click.Abort):
        process.kill_all()
        print("lab: interrupted", file=sys.stderr)  # click has ended the line with ^C
        return 130
    except BrokenPipeError:
        # The reader of our output has left (head, a pager): not worth a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno is None:
            raise
        show(of_file(error))
        return 1
