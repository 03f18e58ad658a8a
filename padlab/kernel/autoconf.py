# SPDX-License-Identifier: GPL-2.0-only
"""One autoconf.h for stock and for kernels with the series, so that they share ccache's objects.

ccache knows an object by its source and by every header that was read for it, and all objects read
include/generated/autoconf.h.  Only the options that the series itself has make a difference there
between two kernels of one configuration.  Their lines are at the end of every kernel's
autoconf.h, in one order.  Stock has them, too: nothing in it refers to them.

If kbuild writes the file once more, for whatever reason, the kernel is the same and shares nothing.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from padlab.core import paths
from padlab.kernel import hooks

HEADER = "include/generated/autoconf.h"
_OPTION = re.compile(r"^\+(?:menu)?config (\w+)$", re.MULTILINE)
_DEFINE = re.compile(r"^#define CONFIG_(\w+?)(?:_MODULE)? ")


def own_options(patches: Path | None = None) -> frozenset[str]:
    """The options that the series adds to Kconfig files, by its hooks."""
    folder = patches or paths.PATCHES
    texts = [(folder / name).read_text(errors="replace") for name in hooks.read_series(folder)]
    return frozenset(option for text in texts for option in _OPTION.findall(text))


def options_last(header: str, options: Iterable[str], series_header: str) -> str:
    """``header`` with the lines of ``options`` at its end, as ``series_header`` has them."""
    own = frozenset(options)

    def is_own(line: str) -> bool:
        match = _DEFINE.match(line)
        return bool(match and match[1] in own)

    rest = [line for line in header.splitlines() if not is_own(line)]
    last = sorted(line for line in series_header.splitlines() if is_own(line))
    return "\n".join([*rest, *last]) + "\n"
