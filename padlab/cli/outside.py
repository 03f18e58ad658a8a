# SPDX-License-Identifier: GPL-2.0-only
"""./lab outside."""

from __future__ import annotations

import click

from padlab.cli.shared import JOBS, JSON, command


@command()
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@JOBS
@click.option("--list", "list_only", is_flag=True, help="Print the names of the programs, and run none.")
@JSON
def outside(globs: tuple[str, ...], jobs: int, list_only: bool, json: bool) -> int:
    """Run kselftests that others wrote on stock and patched.

    They are compared case by case, and are those of checks/outside/programs.toml, of mm,
    cgroup, memory-hotplug and sched.  Patched runs them with jobs on huge pages from 4 MiB on,
    as it does by default, from the least size on, and with none.  A program in which a case
    is worse on patched runs again on both, twice at most.  The exit status is 1 if a case is
    worse in all tries, or if the kernel reports what stock does not.  What came of all is
    kept in build/records.

    A GLOB chooses programs as in ./lab test, by suite and name.

    \b
    Examples:
      ./lab outside --jobs 2          all: an hour
      ./lab outside mm/cow            one
      ./lab outside 'cgroup/*'        those of a suite
    """
    from padlab.check.others import outsiderun

    return outsiderun.main(globs, jobs, list_only, json)
