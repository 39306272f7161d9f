"""A price table: what a model's tokens cost."""

from __future__ import annotations

import importlib.resources
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lamr_agents.errors import PriceError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MILLION = 1_000_000
_NAMES = ("input", "cache_write", "cache_read", "output")


@dataclass(frozen=True)
class Price:
    """Dollars for one token.

    Attributes:
        models: patterns of the names of the models that cost so much.
        input, cache_write, cache_read, output: by what is done with the token.
    """

    models: tuple[str, ...]
    input: float
    cache_write: float
    cache_read: float
    output: float


@dataclass(frozen=True)
class PriceTable:
    """A table of prices.

    Attributes:
        rows: in the order in which they are tried.
    """

    rows: tuple[Price, ...]

    def of(self, model: str) -> Price:
        """The price of a model's tokens.

        Raises:
            PriceError: no row of the table matches.
        """
        for row in self.rows:
            if any(fnmatchcase(model.rpartition("/")[2].lower(), pattern) for pattern in row.models):
                return row
        raise PriceError(f'the price table has no row for {model!r}; end it with models = ["*"]')


def bundled_prices() -> PriceTable:
    """The table that comes with the distribution."""
    return read_prices(Path(str(importlib.resources.files("lamr_agents") / "data" / "prices.toml")))


def read_prices(path: Path) -> PriceTable:
    """Read a table.

    Raises:
        PriceError: it isn't TOML, or a row lacks a price or has one that is no number.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PriceError(f"{path}: can't be read ({error.strerror or error})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PriceError(f"{path}: not TOML ({error})") from error
    rows = table.get("price", [])
    if not isinstance(rows, list) or not rows:
        raise PriceError(f"{path}: has no [[price]]; see the table that comes with lamr")
    return PriceTable(tuple(_price(row, f"{path}: [[price]] {n}") for n, row in enumerate(rows, 1)))


def _price(row: Any, where: str) -> Price:
    models = row.get("models") if isinstance(row, dict) else None
    if not isinstance(models, list) or not all(isinstance(each, str) for each in models):
        raise PriceError(f"{where}: models must be a list of names or patterns")
    given = {"cache_write": row.get("input"), **row}
    return Price(tuple(models), *(_number(given.get(name), f"{where}: {name}") / _MILLION for name in _NAMES))


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise PriceError(f"{where} must be dollars, a number of at least 0, not {value!r}")
    return float(value)
