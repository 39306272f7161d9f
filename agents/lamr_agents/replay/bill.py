"""Turns tokens into money by a price table: what a session cost, and a text in its context from its first request on.

A text is paid for once as new input and again, at the cache's price, in every later request, until the context is
compacted. Only what the log itself says of its requests counts: a log without accounts has an empty bill."""

from __future__ import annotations

import importlib.resources
from bisect import bisect_right
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from lamr_base.lazy import toml_parser
from lamr_base.records import dataclass
from lamr_client import InvalidInputError

from lamr_agents.sessions import Request

COMPACTED = 0.5  # a request with less than this share of the context before it begins a new context
CALL_OUTPUT = 150  # tokens that a model writes to ask for a range of a file
_MILLION = 1_000_000
_NAMES = ("input", "cache_write", "cache_read", "output")


class PriceError(InvalidInputError):
    """A price table can't be used."""


@dataclass(frozen=True)
class Price:
    """Dollars for one token."""

    models: tuple[str, ...]  # patterns of the names of the models that cost so much
    input: float  # an input token that no cache holds
    cache_write: float
    cache_read: float
    output: float


@dataclass(frozen=True)
class PriceTable:
    """Prices by model."""

    rows: tuple[Price, ...]  # in the order in which they are tried

    def of(self, model: str) -> Price:
        """The price of a model's tokens."""
        for row in self.rows:
            if any(fnmatchcase(model.rpartition("/")[2].lower(), pattern) for pattern in row.models):
                return row
        raise PriceError(f'the price table has no row for {model!r}; end it with models = ["*"]')


def bundled_prices() -> PriceTable:
    return read_prices(Path(str(importlib.resources.files("lamr_agents") / "data" / "prices.toml")))


def read_prices(path: Path) -> PriceTable:
    try:
        table = toml_parser().loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PriceError(f"{path}: can't be read ({error.strerror or error})") from error
    except ValueError as error:  # of UTF-8 or TOML
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


@dataclass(frozen=True)
class Bill:
    """The requests of one session and their prices."""

    requests: Sequence[Request]  # in their order; none where the log doesn't account for them
    prices: Sequence[Price]  # one for each request

    @classmethod
    def of(cls, requests: Sequence[Request], prices: PriceTable) -> Bill:
        """The bill by a table: each request costs what its own model costs."""
        return cls(requests, [prices.of(request.model) for request in requests])

    @cached_property
    def total(self) -> float:
        return sum(
            request.fresh * price.input
            + request.written * price.cache_write
            + request.cached * price.cache_read
            + request.output * price.output
            for request, price in zip(self.requests, self.prices, strict=True)
        )

    def readers(self, record: int) -> range:
        """The places of the requests that read what a log's record brings into the context: until it is compacted."""
        first = bisect_right(self.requests, record, key=lambda request: request.record)
        for place in range(first + 1, len(self.requests)):
            if self.requests[place].context < COMPACTED * self.requests[place - 1].context:
                return range(first, place)
        return range(first, len(self.requests))

    def of_text(self, tokens: int, record: int) -> float:
        """Dollars that a text of so many tokens costs that a log's record brings into the context."""
        readers = self.readers(record)
        return tokens * sum(self._price_in(place, new=place == readers[0]) for place in readers)

    def of_fetching(self, tokens: int, record: int) -> float:
        """Dollars for one more request that fetches a text of so many tokens, after a log's record.

        It reads the whole context from the cache, and what it asks and gets stays in the context like any text."""
        readers = self.readers(record)
        if not readers:
            return 0.0
        price = self.prices[readers[0]]
        asking = self.requests[readers[0]].context * price.cache_read + CALL_OUTPUT * price.output
        return asking + self.of_text(tokens + CALL_OUTPUT, record)

    def _price_in(self, place: int, new: bool) -> float:
        """Of a token of a request's input; from the cache where the request took most of its context from there."""
        request, price = self.requests[place], self.prices[place]
        if not new and request.cached >= COMPACTED * request.context:
            return price.cache_read
        return price.cache_write if request.written else price.input
