# SPDX-License-Identifier: GPL-2.0-only
"""./lab docs."""

import click

from padlab.cli.shared import command


@command(locked=False)
@click.option("--check", is_flag=True, help="Only say which documents are not up to date.")
def docs(check: bool) -> int:
    """Renew the tables of documents and messages.

    Figures are put from results/ into README, docs/ and the messages of the series.

    A table is between two lines that name it: see padlab/docs/tables.py for the names.  With
    --check nothing is written, and the exit status is 1 if a table is not up to date.

    \b
    Example:
      ./lab docs
    """
    from padlab.docs import tables

    return tables.main(check=check)
