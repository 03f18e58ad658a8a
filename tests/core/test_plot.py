# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of results/: what is drawn is in the picture."""

from __future__ import annotations

import io

import pytest

from padlab.core import plot

INCHES = 6.0


def edge(note: str) -> float:
    """The darkest of the outermost pixels at the right of a picture with this note: 1 is white."""
    from matplotlib import image  # slow to import

    panel = plot.Bars("a panel", "ms", {"a group": [plot.Bar(1.0, "one", "tab:blue")]})
    picture = plot.figure([panel], "", (INCHES, 3.0), note)
    return float(image.imread(io.BytesIO(picture), format="png")[:, -2:, :3].min())


@pytest.mark.parametrize("letter", ["m", "W", "0"])
def test_a_long_note_is_not_cut_off(letter: str) -> None:
    note = " ".join([letter * 4] * 60)
    assert edge(note) == 1.0


def test_a_note_that_is_cut_off_would_be_seen() -> None:
    assert edge("W" * 300) < 1.0
