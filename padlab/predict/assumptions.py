# SPDX-License-Identifier: GPL-2.0-only
"""The two kernels as ./lab predict knows them: data/assumptions.toml, checked."""

from pathlib import Path

from msgspec import Struct, structs

from padlab.core import toml
from padlab.predict.simulate import Engine

TABLE = Path(__file__).parent / "data" / "assumptions.toml"


class Engines(Struct, frozen=True, forbid_unknown_fields=True):
    stock: Engine
    ours: Engine

    @property
    def ours_span(self) -> list[Engine]:
        """Ours with the least and the most time per page."""
        return [structs.replace(self.ours, page_ratio=ratio) for ratio in self.ours.page_ratio_range]

    @property
    def ours_stock_stores(self) -> Engine:
        """Ours but for the stores."""
        stock = self.stock
        return structs.replace(self.ours, page_ratio=stock.page_ratio, bytes_per_page=stock.bytes_per_page)


def load(path: Path = TABLE) -> Engines:
    return toml.load(path, Engines)
