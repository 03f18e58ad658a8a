# SPDX-License-Identifier: GPL-2.0-only
"""The two kernels as ./lab predict knows them: data/assumptions.toml, checked."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from padlab.core import toml
from padlab.predict import simulate
from padlab.predict.simulate import Engine

TABLE = Path(__file__).parent / "data" / "assumptions.toml"

_CHUNKS = {"fixed": simulate.stock_chunk_end, "guided": simulate.our_chunk_end}
_Positive = Annotated[float, Meta(gt=0)]
_Figure = Annotated[float, Meta(ge=0)]


class _Kernel(Struct, forbid_unknown_fields=True):
    """A kernel's table; the file says what each figure is."""

    chunks: Literal["fixed", "guided"]
    page_ratio: _Positive
    page_ratio_range: tuple[_Positive, _Positive]
    bytes_per_page: _Figure
    lock_ns: _Figure
    pages_per_lock: _Positive
    insert_ns: _Figure
    first_us: _Figure
    each_us: _Figure
    claim_ns: _Figure
    serial_ratio: _Positive

    def engine(self, name: str) -> Engine:
        figures = structs.asdict(self)
        del figures["page_ratio_range"]
        return Engine(name, _CHUNKS[figures.pop("chunks")], **figures)


class _File(Struct, forbid_unknown_fields=True):
    stock: _Kernel
    ours: _Kernel


@dataclasses.dataclass(frozen=True)
class Engines:
    """Stock and ours; ours with the least and the most time per page; and ours but for the stores."""

    stock: Engine
    ours: Engine
    ours_stock_stores: Engine
    ours_low: Engine
    ours_high: Engine


def load(path: Path = TABLE) -> Engines:
    file = toml.load(path, _File)
    stock, ours = file.stock.engine("stock"), file.ours.engine("ours")
    low, high = file.ours.page_ratio_range
    return Engines(
        stock,
        ours,
        dataclasses.replace(ours, page_ratio=stock.page_ratio, bytes_per_page=stock.bytes_per_page),
        dataclasses.replace(ours, page_ratio=low),
        dataclasses.replace(ours, page_ratio=high),
    )
