# SPDX-License-Identifier: GPL-2.0-only
"""Lock files for what only one may do at a time; the clone's own lock is tested in test_cli.py."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from padlab.core import exclusive


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    inside: set[int] = set()
    met: set[int] = set()

    def work(number: int) -> None:
        with exclusive.alone(tmp_path / "new/.lock"):
            met.update(inside)
            inside.add(number)
            time.sleep(0.01)
            inside.remove(number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    assert not met
