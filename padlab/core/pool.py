# SPDX-License-Identifier: GPL-2.0-only
"""The same done to several things at a time, such as guests that boot."""

import concurrent.futures
import contextvars
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from padlab.core import process

T = TypeVar("T")
R = TypeVar("R")


def in_order(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """What ``function`` makes of each item, ``jobs`` at a time; after an error no other one is begun."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        # Each in a context of its own: two threads cannot be in one.
        futures = [pool.submit(contextvars.copy_context().run, function, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        except BaseException as err:
            pool.shutdown(wait=False, cancel_futures=True)
            # The end of the with block waits for what is under way, such as guests.
            if not isinstance(err, Exception):
                process.kill_all()
            raise
