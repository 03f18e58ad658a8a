# SPDX-License-Identifier: GPL-2.0-only
"""Work that several threads share: done once for all of them, or in parts at the same time."""

import concurrent.futures
import contextvars
import functools
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future
from typing import Generic, ParamSpec, TypeVar

from padlab.core import process
from padlab.core.errors import LabError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class once(Generic[P, R]):
    """functools.cache for threads: what one of them is working out, the others wait for.

    LabErrors are kept as well: what has failed is not tried again for the next one that needs it.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._lock = threading.Lock()
        self._results: dict[Hashable, Future[R]] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (args, tuple(sorted(kwargs.items())))
        with self._lock:
            earlier = self._results.get(key)
            future = earlier or self._results.setdefault(key, Future())
        if earlier is None:
            try:
                future.set_result(self._function(*args, **kwargs))
            except BaseException as err:
                if not isinstance(err, LabError):
                    with self._lock:
                        del self._results[key]
                future.set_exception(err)
        return future.result()


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
