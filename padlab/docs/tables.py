# SPDX-License-Identifier: GPL-2.0-only
"""All tables by the names that documents call them by."""

import inspect
from collections.abc import Callable, Sequence

from padlab.core.errors import LabError
from padlab.docs import boots, instructions, native, source
from padlab.docs.form import Table

TABLES: dict[str, Callable[..., Table]] = {
    "boots": boots.timed,
    "boots-by-threads": boots.by_threads,
    "predicted": boots.predicted,
    "predicted-errors": boots.errors,
    "predicted-cores": boots.cores,
    "instructions": instructions.boots,
    "instructions-per-gib": instructions.per_gib,
    "instructions-bases": instructions.bases,
    "sleeping-initcall": instructions.sleeping,
    "threads-made": instructions.threads_made,
    "helpers": instructions.helpers,
    "recorded": native.recorded,
    "struct-pages": native.struct_pages,
    "struct-pages-threads": native.by_threads,
    "struct-pages-chart": native.threads_chart,
    "struct-pages-uses": native.uses,
    "zeroing-1-gib": native.gib_page,
    "zeroing-chart": native.gib_chart,
    "zeroing-2-mib": native.huge_page,
    "zeroing-ways": native.ways,
    "zeroing-sizes": native.sizes,
    "zeroing-break-even": native.break_even,
    "copies": native.copies,
    "parts": source.parts,
    "hooks": source.hooked,
    "bench-limits": source.limits,
    "pfn-verdicts": source.pfn_verdicts,
    "pfn-users": source.pfn_users,
    # Of messages.
    "cover": instructions.cover,
    "lower-zones": instructions.lower,
    "deferred-page": instructions.deferred,
    "after-parts": instructions.parts,
    "node-line": boots.mail_timed,
    "struct-page": native.mail_struct_pages,
    "zeroing": native.mail_zeroing,
    "zeroing-by-way": native.mail_ways,
}


def make(words: Sequence[str]) -> Table:
    """The table that a marker names, with its arguments."""
    name, *arguments = words
    function = TABLES.get(name)
    if function is None:
        raise LabError("a table", f"there is none called {name!r}", f"name one of: {', '.join(TABLES)}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        wanted = " ".join(inspect.signature(function).parameters).upper()
        why = f"{name!r} does not take {' '.join(arguments) or 'nothing'}"
        raise LabError("a table", why, f"name it as: {name} {wanted}") from None
    try:
        return function(*arguments)
    except (KeyError, TypeError, IndexError, ValueError, StopIteration) as err:
        why = f"what {' '.join(words)!r} is made from is not recorded ({type(err).__name__}: {err})"
        raise LabError("a table", why, "record it again, or name another CPU or part") from None
