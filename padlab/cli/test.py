# SPDX-License-Identifier: GPL-2.0-only
"""The commands that check."""

from pathlib import Path

import click

from padlab.cli.shared import JOBS, command
from padlab.core.aptsuite import SUITES

FILE = click.Path(dir_okay=False, path_type=Path)


@command(locked=False)  # it takes the lock itself: --list needs none
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--quick", is_flag=True, help="Only what needs no kernel build and no boot.")
@click.option("--full", is_flag=True, help="Also what takes long: hours.")
@click.option("--again", is_flag=True, help="Run all of it anew, whatever is kept.")
@click.option(
    "-k", "words", metavar="EXPR", default="", help="Names that have these: 'memmap and not holes'."
)
@click.option("-x", "stop", is_flag=True, help="End at the first failure.")
@click.option("--lf", "failed", is_flag=True, help="Those that failed when they were last run.")
@click.option("--durations", metavar="N", type=click.IntRange(0), default=0, help="Print the N slowest.")
@click.option("--list", "names", is_flag=True, help="Print the names of the checks, and run none.")
@click.option("--json", metavar="FILE", type=FILE, help="Also write the results there, as JSON.")
@click.option("--junitxml", metavar="FILE", type=FILE, help="Also write the results there, as JUnit's XML.")
def test(
    globs: tuple[str, ...],
    quick: bool,
    full: bool,
    again: bool,
    words: str,
    stop: bool,
    failed: bool,
    durations: int,
    names: bool,
    json: Path | None,
    junitxml: Path | None,
) -> int:
    """Run the checks, all of them or some.

    They are lint, the lab's own tests, the engine in userspace, KUnit, kselftests, the memory
    maps of stock and patched, and what they cost.

    A GLOB chooses those whose names it matches, with *, ? and [...]; a plain word, those
    whose names have it anywhere.  Upper and lower case are the same.  -k, -x, --lf, --durations
    and --junitxml are as pytest has them.

    \b
    Examples:
      ./lab test --quick              before each commit, three minutes
      ./lab test                      before a change is sent
      ./lab test --full               everything
      ./lab test -k kunit             KUnit, under UML and in guests
      ./lab test -x -k 'memmap and holes'
      ./lab test --lf                 what failed, again
      ./lab test --list oracle        the names of the checks of the memmap
      ./lab test kselftests 'boot, *' some
      ./lab test 'test_load (debug)'  one kselftest by itself; with --full, also (rt) and (kcsan)
    """
    from padlab.check.plan import lab_test

    if quick and full:
        raise click.UsageError("--quick and --full exclude each other")

    how = lab_test.How(words, stop, failed, durations, again, json, junitxml)
    return lab_test.main(globs, quick, full, names, how)


def _check_models(globs: tuple[str, ...], full: bool, **_more: object) -> None:
    from padlab.check.userspace import spin

    spin.choose(globs, full)


@command(check=_check_models)
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--full", is_flag=True, help="Also those with more states: a minute more.")
@click.option("--list", "list_only", is_flag=True, help="Print the names of the models, and search none.")
def models(globs: tuple[str, ...], full: bool, list_only: bool) -> int:
    """Search all that the threads of a job may do, with spin.

    Two or three threads, with weakly ordered memory; see docs/testing.md.  GLOB chooses by name, as
    in ./lab test.  The steps that lead to an error are in the log, build/logs/models-NAME.log.

    \b
    Examples:
      ./lab models
      ./lab models task-again         one model
    """
    from padlab.check.userspace import spin

    return spin.main(globs, full, list_only)


@command()
@click.option("--seed", type=click.IntRange(0), help="Of the first machine, then 1 more.  [default: time]")
@click.option("--boots", "nr", type=click.IntRange(1), default=20, help="Machines.  [default: 20]")
@JOBS
def soak(seed: int | None, nr: int, jobs: int) -> int:
    """Compare memory maps on machines drawn at random.

    Stock and patched are booted.  Nodes, sizes, holes, CPUs, DIMMs, command lines and kernel
    configurations are drawn from a seed, one for each machine, so that any can be drawn
    again.  The exit status is 1 if one differs.

    \b
    Examples:
      ./lab soak                              20 machines: minutes
      ./lab soak --boots 200 --jobs 2         200 of them
      ./lab soak --seed 4711 --boots 1        one again
    """
    from padlab.check.memmap import soak as soaks

    return soaks.main(seed, nr, jobs)


def _check_mutants(globs: tuple[str, ...], **_more: object) -> None:
    from padlab.check.mutants import mutants as runs

    runs.choose(globs)


@command(check=_check_mutants)
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option(
    "--tier",
    type=click.Choice(["userspace", "uml", "kernel", "debug"]),
    default="debug",
    help="No dearer checks than these: programs, KUnit under UML, boots, boots of the debug kernel.",
)
@JOBS
@click.option("--list", "list_only", is_flag=True, help="Print the mutants, and try none.")
def mutants(globs: tuple[str, ...], tier: str, jobs: int, list_only: bool) -> int:
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
    from padlab.check.mutants import mutants as runs

    return runs.main(globs, tier, jobs, list_only)


@command()
@click.option(
    "--suite",
    "suites",
    type=click.Choice(SUITES),
    multiple=True,
    help="May be given several times.  [default: both]",
)
@click.option("--full", is_flag=True, help="./lab test instead of ./lab test --quick.")
@click.option("--cold", is_flag=True, help="Without the host's downloads and compiler results.")
def fresh(suites: tuple[str, ...], full: bool, cold: bool) -> int:
    """Run ./lab boot and ./lab test on a bare Debian.

    HEAD is cloned into a new root that has apt and nothing else and is removed after, and
    ./lab boot and ./lab test --quick (with --full: all of ./lab test) run there as root.  It
    fails if one of them does, or if a test is skipped for want of a package, a tree or a tool.

    \b
    Examples:
      ./lab fresh
      ./lab fresh --suite trixie --full --cold
    """
    from padlab.check.fresh import fresh as proofs

    return proofs.main(suites or SUITES, full, cold)
