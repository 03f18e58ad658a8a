# SPDX-License-Identifier: GPL-2.0-only
"""./lab test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from padlab.cli.shared import command


@command(locked=False)  # it takes the lock itself: --list needs none
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--quick", is_flag=True, help="Only what needs no kernel build and no boot.")
@click.option("--full", is_flag=True, help="Also each command line on each machine, and KASAN: an hour.")
@click.option("--list", "list_only", is_flag=True, help="Print the names of the checks, and run none.")
@click.option("--last-failed", is_flag=True, help="Only what has failed and has not passed since.")
@click.option(
    "--junit",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the results there, as JUnit XML.",
)
def test(quick: bool, full: bool, **options: Any) -> int:
    """Run the checks: lint, lab, engine in userspace, KUnit, kselftests, memmap oracle.

    A GLOB chooses those whose names it matches, with *, ? and [...]; a plain word, those
    whose names have it anywhere.  Upper and lower case are the same.

    \b
    Examples:
      ./lab test --quick              before each commit, about a minute
      ./lab test                      what CI runs
      ./lab test --full               everything
      ./lab test --list oracle        the names of the checks of the memmap
      ./lab test kselftests 'boot, *' some
      ./lab test --last-failed        what has failed, again
    """
    from padlab.check import command as checks

    if quick and full:
        raise click.UsageError("--quick and --full exclude each other")

    return checks.main(quick=quick, full=full, **options)
