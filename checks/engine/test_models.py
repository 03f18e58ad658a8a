# SPDX-License-Identifier: GPL-2.0-only
"""Models: all that two or three threads of a job may do, searched with spin (spin.py).

The steps that lead to an error are in the log, build/logs/models-NAME.log.
"""

from functools import partial

import pytest

from checks.declare import FULL, Needs, each, row
from checks.engine import spin
from padlab.core.outcome import Outcome


def _row(search: spin.Search) -> "pytest.ParameterSet":
    needs = Needs(900, mib=512, sees=partial(spin.seen, search))
    return row(f"{search.title}, {search.name}", search, needs=needs, when=FULL if search.full else "")


@each("search", map(_row, spin.searches()))
def test_model(search: spin.Search) -> Outcome:
    return spin.check(search)
