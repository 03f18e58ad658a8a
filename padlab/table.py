# SPDX-License-Identifier: GPL-2.0-only
"""Results on stdout."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

# Results piped to a file or another program are not cut to 80 columns.
_PIPED_WIDTH = 160


def console() -> Console:
    """A console on the stdout of now."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=_PIPED_WIDTH)


def plain(text: str) -> str:
    """Text from elsewhere, in which brackets are brackets."""
    return escape(text)
