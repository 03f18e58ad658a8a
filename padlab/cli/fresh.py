# SPDX-License-Identifier: GPL-2.0-only
"""./lab fresh."""

import click

from padlab.check.fresh.hostconfig import SUITES
from padlab.cli.shared import command


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
