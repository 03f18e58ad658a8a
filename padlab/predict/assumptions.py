# SPDX-License-Identifier: GPL-2.0-only
"""The two kernels as ./lab predict knows them: data/assumptions.toml, checked."""

from pathlib import Path

from msgspec import Struct, structs

from padlab.core import toml
from padlab.predict.simulate import Engine

TABLE = Path(__file__).parent / "data" / "assumptions.toml"


class Stores(Struct, frozen=True, forbid_unknown_fields=True):
    """What of ours depends on the CPU."""

    page_ratio: float
    page_ratio_range: tuple[float, float]
    bytes_per_page: float


class Engines(Struct, frozen=True, forbid_unknown_fields=True):
    """``ours`` is that on AMD's CPUs; see on()."""

    stock: Engine
    ours: Engine
    intel: Stores

    def on(self, machine: str) -> "Engines":
        """The same on the CPUs of ``machine``, by its name."""
        if not machine.startswith("xeon"):
            return self
        return structs.replace(self, ours=structs.replace(self.ours, **structs.asdict(self.intel)))

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
