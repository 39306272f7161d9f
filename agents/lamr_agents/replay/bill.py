"""Tokens to money: what a session cost, and what a text in its context cost from the request that first read it on.

A text is paid for once as new input and again, at the cache's price, in every later request, until the context is
compacted. A host that keeps accounts is believed; for others the requests are made up from the events, with the whole
context cached between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from lamr_postprocess import approximate_tokens
from lamr_sessions import Event, Request

from lamr_agents.replay.prices import Price

COMPACTED = 0.5
"""A request with less than this share of the context before it begins a new context."""
CALL_OUTPUT = 150
"""Tokens that a model writes to ask for a range of a file."""


@dataclass(frozen=True)
class Bill:
    """The requests of one session and their price.

    Attributes:
        requests: in their order.
        price: of the session's tokens.
        accounted: whether the log accounts for the requests.
    """

    requests: Sequence[Request]
    price: Price
    accounted: bool

    @property
    def total(self) -> float:
        """Dollars for the whole session."""
        return sum(
            request.fresh * self.price.input
            + request.written * self.price.cache_write
            + request.cached * self.price.cache_read
            + request.output * self.price.output
            for request in self.requests
        )

    def of_text(self, tokens: int, record: int) -> float:
        """Dollars that a text of so many tokens costs that a log's record brings into the context."""
        later = self._alive(record)
        if not later:
            return 0.0
        price = self._new(later[0])
        for request in later[1:]:
            cached = request.cached >= COMPACTED * request.context
            price += self.price.cache_read if cached else self._new(request)
        return tokens * price

    def of_fetching(self, tokens: int, record: int) -> float:
        """Dollars for one more request that fetches a text of so many tokens, after a log's record."""
        later = self._alive(record)
        if not later:
            return 0.0
        asking = later[0].context * self.price.cache_read + CALL_OUTPUT * self.price.output
        return asking + self.of_text(tokens, record)

    def _alive(self, record: int) -> list[Request]:
        """The requests that read what a record brought."""
        later: list[Request] = []
        for request in self.requests:
            if request.record <= record:
                continue
            if later and request.context < COMPACTED * later[-1].context:
                break
            later.append(request)
        return later

    def _new(self, request: Request) -> float:
        return self.price.cache_write if request.written else self.price.input


def made_up_requests(events: Sequence[Event]) -> list[Request]:
    """Requests for a log without accounts: one for each run of what the assistant says and calls."""
    requests: list[Request] = []
    context = new = 0
    own = ("assistant", "thought", "call")
    for is_own, run in groupby(events, lambda event: event.kind in own):
        run_of = list(run)
        tokens = sum(map(_tokens, run_of))
        if is_own and context + new:
            requests.append(Request(run_of[0].record, 0, new, context, tokens))
            context, new = context + new, tokens
        else:
            new += tokens
    return requests


def _tokens(event: Event) -> int:
    return approximate_tokens(event.text + "".join(map(str, event.arguments.values())))
