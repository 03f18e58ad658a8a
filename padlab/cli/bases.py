# SPDX-License-Identifier: GPL-2.0-only
"""./lab bases."""

from __future__ import annotations

import click

from padlab.cli.shared import command


@command(locked=False, based=False)
@click.option("--json", is_flag=True, help="Print it as JSON.")
def bases(json: bool) -> int:
    """List the bases, and how many lines differ between them.

    A base is the Linux that is built, or that the series is for.  Hooks are its own; owned
    files are shared, and a base may have its own version of some lines.  A line that is
    changed counts once.  The exit status is 1 if as much as 5 % of the owned lines differ.

    \b
    Example:
      ./lab bases
    """
    from padlab.kernel import differences

    return differences.main(json=json)
