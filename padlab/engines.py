# SPDX-License-Identifier: GPL-2.0-only
"""The two kernels as ./lab predict knows them: data/engines.toml, checked."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

from padlab import simulate
from padlab.errors import LabError
from padlab.simulate import Engine

TABLE = Path(__file__).parent / "data" / "engines.toml"

_CHUNKS = {"fixed": simulate.stock_chunk_end, "guided": simulate.our_chunk_end}
_FIGURES = {field.name for field in dataclasses.fields(Engine)} - {"name", "chunk_end"}
_KEYS = _FIGURES | {"chunks", "page_ratio_range"}


@dataclasses.dataclass(frozen=True)
class Engines:
    """Stock and ours; ours with the least and the most time per page; and ours but for the stores."""

    stock: Engine
    ours: Engine
    ours_stock_stores: Engine
    ours_low: Engine
    ours_high: Engine


def load(path: Path = TABLE) -> Engines:
    """Read the table; any fault in it is a LabError that names the key."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        raise LabError(path.name, f"cannot be read: {err}", "repair the file") from None
    ours = _engine(path, data, "ours")
    low, high = data["ours"]["page_ratio_range"]
    stock = _engine(path, data, "stock")
    return Engines(
        stock,
        ours,
        dataclasses.replace(ours, page_ratio=stock.page_ratio, bytes_per_page=stock.bytes_per_page),
        dataclasses.replace(ours, page_ratio=low),
        dataclasses.replace(ours, page_ratio=high),
    )


def _engine(path: Path, data: dict, name: str) -> Engine:
    table = data.get(name, {})
    wrong = sorted(_KEYS ^ set(table))
    if wrong:
        raise LabError(path.name, f"[{name}] has too many or too few keys: {', '.join(wrong)}", "correct it")
    if table["chunks"] not in _CHUNKS:
        raise LabError(path.name, f"[{name}] chunks is {table['chunks']!r}", f"use {' or '.join(_CHUNKS)}")
    for key in sorted(_FIGURES):
        _check(path, f"[{name}] {key}", table[key])
    span = table["page_ratio_range"]
    if not isinstance(span, list) or len(span) != 2:
        raise LabError(path.name, f"[{name}] page_ratio_range is {span!r}", "give the least and the most")
    for value in span:
        _check(path, f"[{name}] page_ratio_range", value)
    return Engine(name, _CHUNKS[table["chunks"]], **{key: float(table[key]) for key in _FIGURES})


def _check(path: Path, where: str, value: object) -> None:
    least = "above 0" if where.endswith(("ratio", "range", "pages_per_lock")) else "0 or more"
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or value < 0 or (value == 0 and least == "above 0"):
        raise LabError(path.name, f"{where} is {value!r}", f"use a number {least}")
