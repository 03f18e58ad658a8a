# SPDX-License-Identifier: GPL-2.0-only
"""functools.cache for threads: what one of them is working out, the others wait for."""

import functools
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, ParamSpec, TypeVar

from padlab.core.errors import LabError

P = ParamSpec("P")
R = TypeVar("R")


class once(Generic[P, R]):
    """A function that is called once for the same arguments.

    Its LabErrors are kept as well: what has failed is not tried again for the next one that needs it.
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
