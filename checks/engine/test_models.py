# SPDX-License-Identifier: GPL-2.0-only
"""Models: all that two or three threads of a job may do, searched with spin (spin.py).

The steps that lead to an error are in the log, build/logs/models-NAME.log.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from checks.declare import FULL, Needs, each, row
from checks.engine import spin
from padlab.core.outcome import Outcome

TITLES = {
    spin.MEMORY: "models: what the model of memory allows",
    spin.JOBS: "models: all that the threads of a job may do",
    spin.LEFT_OUT: "models: each piece of the handshakes is needed",
}


def _rows() -> Iterator["pytest.ParameterSet"]:
    for search in spin.searches():
        needs = Needs(900, mib=512, sees=partial(spin.seen, search))
        name = f"{TITLES[search.kind]}, {search.name}"
        yield row(name, search, needs=needs, when=FULL if search.full else "")


@each("search", _rows())
def test_model(search: spin.Search) -> Outcome:
    return spin.check(search)
