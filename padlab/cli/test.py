# SPDX-License-Identifier: GPL-2.0-only
"""./lab test."""

from pathlib import Path

import click

from padlab.cli.shared import JSON, command


@command(locked=False)  # it takes the lock itself: --list needs none
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--quick", is_flag=True, help="Only what needs no kernel build and no boot.")
@click.option("--full", is_flag=True, help="Also what takes long: hours.")
@click.option("--brief", is_flag=True, help="Only what CI runs of other bases than the default.")
@click.option("--again", is_flag=True, help="Run all of it anew, whatever is kept.")
@click.option("--list", "list_only", is_flag=True, help="Print the names of the checks, and run none.")
@click.option(
    "--json",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the results there, as JSON.",
)
def test(
    globs: tuple[str, ...],
    quick: bool,
    full: bool,
    brief: bool,
    again: bool,
    list_only: bool,
    json: Path | None,
) -> int:
    """Run the checks, all of them or some.

    They are lint, the lab's own tests, the engine in userspace, KUnit, kselftests, the memory
    maps of stock and patched, and what they cost.

    A GLOB chooses those whose names it matches, with *, ? and [...]; a plain word, those
    whose names have it anywhere.  Upper and lower case are the same.

    A guest is not booted again while nothing that it sees has changed: kernel, initramfs, command
    line, machine and QEMU.  What it said is kept in the user's cache, and judged anew; --again
    boots all of them.  So the next run boots only what has failed.

    \b
    Examples:
      ./lab test --quick              before each commit, three minutes
      ./lab test                      before a change is sent
      ./lab test --full               everything
      ./lab test --base 7.3 --brief   both kernels of that base, KUnit, four memory maps, the series
      ./lab test --list oracle        the names of the checks of the memmap
      ./lab test kselftests 'boot, *' some
      ./lab test 'test_kill (debug)'  one kselftest by itself; with --full, also (rt) and (kcsan)
    """
    from padlab.check.plan import lab_test

    if quick + full + brief > 1:
        raise click.UsageError("--quick, --full and --brief exclude each other")

    return lab_test.main(globs, quick, full, list_only, json, brief, again)


@command()
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--full", is_flag=True, help="Also those with more states: a minute more.")
@click.option("--list", "list_only", is_flag=True, help="Print the names of the models, and search none.")
@click.option("--trace", is_flag=True, help="Print the steps that lead to each error.")
@JSON
def models(globs: tuple[str, ...], full: bool, list_only: bool, trace: bool, json: bool) -> int:
    """Search all that the threads of a job may do, with spin.

    Two or three threads, with weakly ordered memory.  The C code of the engine and of its
    task back end runs under the search of the model checker spin, with every order of its
    threads' steps and every value that a load may see.  Three parts: what the model of memory
    allows; jobs, in which there must be no error; and what each piece of the handshakes is
    there for: without it, an error has to be found.  GLOB chooses by name, as in ./lab test.

    \b
    Examples:
      ./lab models
      ./lab models task-again         one model
      ./lab models --trace slot-without-release    the steps that lead to the error
    """
    from padlab.check.userspace import spin

    return spin.main(globs, full, list_only, trace, json)
