# SPDX-License-Identifier: GPL-2.0-only
"""The commands that check."""

import click

from padlab.cli.shared import command


@command(
    locked=False,  # by the plugin: a list of names needs no lock
    context_settings={"ignore_unknown_options": True},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[NAME]... [pytest's options]")
def test(arguments: tuple[str, ...]) -> int:
    """Run the checks, all of them or some.

    They are lint, the lab's own tests, the engine in userspace, KUnit, kselftests, the memory
    maps of stock and patched, and what they cost: pytest on checks/, which takes all of pytest's
    options.

    NAME chooses checks: it matches their names with *, ? and [...]; a plain word, those whose
    names have it anywhere.  Upper and lower case are the same.

    \b
    --quick         only what needs no kernel build and no boot
    --full          also what takes long: hours
    --again         boot every guest, whatever is cached of earlier runs
    --list          print the names of the checks, and run none
    -n N            CPU cores to use at most
    -k EXPR         names that have these words: 'memmap and not holes'
    -x              end at the first failure
    --lf            those that failed when they were last run
    --durations=N   the N slowest
    --junitxml=FILE also write the results there

    \b
    Examples:
      ./lab test --quick              before each commit, three minutes
      ./lab test                      before a change is sent
      ./lab test -x -k 'memmap and holes'
      ./lab test --list oracle        the names of the checks of the memmap
      ./lab test kselftests 'boot, *' some
      ./lab test 'test_load (debug)'  one kselftest by itself; also (rt) and (kcsan)
      ./lab test models               all that the threads of a job may do, with spin
      ./lab test --full 'random machines'     memory maps on machines drawn at random
      ./lab test --full 'bare bookworm'       the README's commands on a bare Debian
    """
    from padlab.core import environment

    environment.need("dev")
    import pytest

    from checks import ARGUMENTS

    alone = ("-qqq", "--no-header") if "--list" in arguments else ()
    return int(pytest.main([*ARGUMENTS, *alone, *arguments]))


def _check_mutants(globs: tuple[str, ...], **_more: object) -> None:
    from padlab.core import environment

    environment.need("dev")
    from checks.mutants import mutants as runs

    runs.choose(globs)


@command(check=_check_mutants)
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option(
    "--tier",
    type=click.Choice(["userspace", "uml", "kernel", "debug"]),
    default="debug",
    help="No dearer checks than these: programs, KUnit under UML, boots, boots of the debug kernel.",
)
@click.option("--list", "list_only", is_flag=True, help="Print the mutants, and try none.")
def mutants(globs: tuple[str, ...], tier: str, list_only: bool) -> int:
    """Put faults into the kernel side; a check has to notice each.

    The faults, small ones, are in checks/mutants/.  Each is tried by itself, on the checks that its
    table names, the cheapest first, until one fails.  The exit status is 1 if a mutant survives that
    is not marked as equivalent, or if one does not compile.  What is found is kept in build/mutants.

    A GLOB chooses as in ./lab test, by table and name.

    \b
    Examples:
      ./lab mutants --list
      ./lab mutants --tier userspace          minutes
      ./lab mutants 'charge/*'                those of kernel/sched/charge.c
      ./lab mutants                           all, on all checks: hours
    """
    from checks.mutants import mutants as runs

    return runs.main(globs, tier, list_only)
