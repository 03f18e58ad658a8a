# SPDX-License-Identifier: GPL-2.0-only
"""Work in parts at the same time."""

import concurrent.futures
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from padlab.core import process

R = TypeVar("R")
T = TypeVar("T")


def in_order(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """What ``function`` makes of each item, ``jobs`` at a time; after an error no other one is begun."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        except BaseException as err:
            pool.shutdown(wait=False, cancel_futures=True)
            # The end of the with block waits for what is under way.
            if not isinstance(err, Exception):
                process.kill_all()
            raise
