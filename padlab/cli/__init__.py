# SPDX-License-Identifier: GPL-2.0-only
"""The command line.  Commands import what they need when they run, so that --help is quick."""

import os
import sys
from typing import NoReturn

import click

# Each adds its commands to the group.
from padlab.cli import boot, measure, test, tree  # noqa: F401
from padlab.cli.shared import cli
from padlab.core import process
from padlab.core.errors import LabError


def main(args: list[str] | None = None) -> NoReturn:
    process.interrupt_on_signals()
    sys.exit(_run(args))


def _run(args: list[str] | None) -> int:
    try:
        return cli.main(args, "./lab", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LabError as error:
        error.tell()
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
        # Nothing closer to it has explained it.
        todo = "check the path, who owns it, and the room on disk"
        LabError(str(error.filename or "files"), error.strerror or str(error), todo).tell()
        return 1
