"""Tokens to money: what a session cost, and what a text in its context cost from the request that first read it on.

A text is paid for once as new input and again, at the cache's price, in every later request, until the context is
compacted. Only what the log itself says of its requests counts: a log without accounts has an empty bill.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lamr_agents.replay.prices import Price, PriceTable
from lamr_agents.sessions import Request

COMPACTED = 0.5
"""A request with less than this share of the context before it begins a new context."""
CALL_OUTPUT = 150
"""Tokens that a model writes to ask for a range of a file."""


@dataclass(frozen=True)
class Bill:
    """The requests of one session and their prices.

    Attributes:
        requests: in their order; none where the log doesn't account for them.
        prices: of the tokens of each.
    """

    requests: Sequence[Request]
    prices: Sequence[Price]

    @classmethod
    def of(cls, requests: Sequence[Request], prices: PriceTable) -> Bill:
        """The bill by a table: each request costs what its own model costs.

        Raises:
            PriceError: the table has no row for a model.
        """
        return cls(requests, [prices.of(request.model) for request in requests])

    @cached_property
    def total(self) -> float:
        """Dollars for the whole session."""
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
        return tokens * sum(
            self._new(place)
            if place == readers[0] or not self._is_cached(place)
            else self.prices[place].cache_read
            for place in readers
        )

    def of_fetching(self, tokens: int, record: int) -> float:
        """Dollars for one more request that fetches a text of so many tokens, after a log's record.

        It reads the whole context from the cache, and what it asks and gets stays in the context like any text.
        """
        readers = self.readers(record)
        if not readers:
            return 0.0
        price = self.prices[readers[0]]
        asking = self.requests[readers[0]].context * price.cache_read + CALL_OUTPUT * price.output
        return asking + self.of_text(tokens + CALL_OUTPUT, record)

    def _is_cached(self, place: int) -> bool:
        return self.requests[place].cached >= COMPACTED * self.requests[place].context

    def _new(self, place: int) -> float:
        price = self.prices[place]
        return price.cache_write if self.requests[place].written else price.input
