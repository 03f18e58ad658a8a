# SPDX-License-Identifier: GPL-2.0-only
"""./lab mutants."""

import click

from padlab.cli.shared import JOBS, JSON, command


@command()
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option(
    "--tier",
    type=click.Choice(["userspace", "uml", "kernel", "debug"]),
    default="debug",
    help="No dearer checks than these: programs, KUnit under UML, boots, boots of the debug kernel.",
)
@JOBS
@click.option("--again", is_flag=True, help="Forget what earlier runs have found of these mutants.")
@click.option("--list", "list_only", is_flag=True, help="Print the mutants, and try none.")
@JSON
def mutants(globs: tuple[str, ...], tier: str, jobs: int, again: bool, list_only: bool, json: bool) -> int:
    """Put faults into the kernel side; a check has to notice each.

    The faults, small ones, are in checks/mutants/.  Each is tried by itself, on the checks
    that its table names, the cheapest first, until one fails.  What is known is kept, as long
    as neither the fault nor what the check depends on changes, so a run that was ended goes
    on where it was.  The exit status is 1 if a mutant survives that is not marked as
    equivalent, or if one does not compile.

    A GLOB chooses as in ./lab test, by table and name.

    \b
    Examples:
      ./lab mutants --list
      ./lab mutants --tier userspace          minutes
      ./lab mutants 'charge/*'                those of kernel/sched/charge.c
      ./lab mutants                           all, on all checks: hours
    """
    from padlab.check.mutants import mutants as runs

    return runs.main(globs, tier, jobs, again, list_only, json)
