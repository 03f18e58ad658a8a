# SPDX-License-Identifier: GPL-2.0-only
"""./lab soak."""

import click

from padlab.cli.shared import JOBS, command


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
