"""Foresees how many requests follow upon a read and whether an agent comes back for it, and cuts where that pays.

Two small linear models, fitted in milliseconds on what ways to cut came to in recorded sessions. The unit of money is
the price of a token of new input, so that no price table is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from lamr_agents.policy import HIDING, Policy
from lamr_agents.replay import Recorded, Result, Way
from lamr_agents.replay.bill import CALL_OUTPUT
from lamr_agents.replay.outcome import outcome_of
from lamr_agents.replay.ways import OwnPolicy
from lamr_client import PruneResult
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
WRITTEN, CACHED, OUTPUT = 1.25, 0.1, 5.0
"""What a token costs that is new, that comes from the cache, and that a model writes, as most providers have it."""
FETCHED = 0.35
"""Share of what was cut that agents fetch when they come back, on the sessions of the fit."""
RIDGE = 3.0
HOSTS = ("claude-code", "codex", "opencode", "pi")


@dataclass(frozen=True)
class Seen:
    """A read that a way would cut.

    Attributes:
        place: float `[p]`, what is known of the session when it comes: requests and tokens so far, its task, its host.
        cut: float `[c]`, what is known of the cut: how much the model thinks of what is hidden, how many lines, and how
            likely the file holds an answer.
        context, tokens: of the last request, and those that the cut saves.
    """

    place: FloatArray
    cut: FloatArray
    context: float
    tokens: float


def seen_of(read: Result, judged: PruneResult, saved: int, host: str) -> Seen:
    """What is known of a read and its cut when it comes."""
    scores = np.array(judged.line_scores, dtype=np.float64)
    scores[[line - 1 for line in judged.kept_lines]] = 0.0
    place = [
        1.0,
        np.log1p(read.requests_before),
        np.log1p(read.context_before / 1000),
        np.log1p(len(read.intent.task)),
        *(float(host == each) for each in HOSTS),
    ]
    gone = scores.size - len(judged.kept_lines)
    relevance = 0.5 if judged.relevance is None else judged.relevance
    cut = [1.0, np.log1p(scores.sum()), np.log1p(gone), relevance, np.log1p(judged.tokens_in)]
    return Seen(np.array(place), np.array(cut), float(read.context_before), float(saved))


@dataclass(frozen=True)
class Forecast:
    """The two models.

    Attributes:
        to_come: float `[p]`, gives the logarithm of the requests that read a result.
        again: float `[c + 1]`, gives the log-odds that an agent comes back; the last weighs the requests to come.
    """

    to_come: FloatArray
    again: FloatArray

    def requests(self, seen: Seen) -> float:
        """How many requests will read it; at least one."""
        return max(1.0, float(np.expm1(seen.place @ self.to_come)))

    def comes_back(self, seen: Seen) -> float:
        """How likely the agent fetches something of the cut again."""
        features = np.append(seen.cut, np.log1p(self.requests(seen)))
        return float(1 / (1 + np.exp(-features @ self.again)))

    def pays(self, seen: Seen) -> bool:
        """Whether the cut is expected to save more than coming back for it costs."""
        requests = self.requests(seen)
        of_a_token = WRITTEN + CACHED * (requests - 1)
        again = seen.context * CACHED + CALL_OUTPUT * OUTPUT + FETCHED * seen.tokens * of_a_token
        return seen.tokens * of_a_token > self.comes_back(seen) * again


def fitted(sessions: Sequence[Recorded], way: Way) -> tuple[Forecast, int]:
    """The models by what a way would come to in sessions, and on how many reads they were fitted."""
    seen: list[Seen] = []
    to_come: list[float] = []
    again: list[float] = []
    for session in sessions:
        judge = way.begin(session)
        for result in session.results:
            shown = judge(result)
            if shown.reason in HIDING and shown.result:
                saved = shown.tokens_in - shown.tokens_out
                seen.append(seen_of(result, shown.result, saved, session.host))
                to_come.append(float(np.log1p(len(session.bill.readers(result.record)))))
                again.append(float(outcome_of(result, shown, session).again > 0))
    places = np.array([each.place for each in seen])
    weights = np.linalg.solve(
        places.T @ places + RIDGE * np.eye(places.shape[1]), places.T @ np.array(to_come)
    )
    first = Forecast(weights, np.zeros(0))
    cuts = np.array([[*each.cut, np.log1p(first.requests(each))] for each in seen])
    return Forecast(weights, _log_odds(cuts, np.array(again))), len(seen)


def _log_odds(features: FloatArray, happened: FloatArray, steps: int = 50) -> FloatArray:
    """Weights of a logistic regression with a ridge, by Newton's method."""
    weights = np.zeros(features.shape[1])
    ridge = RIDGE * np.eye(weights.size)
    for _ in range(steps):
        likely = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (likely - happened) + RIDGE * weights
        bend = (features * (likely * (1 - likely))[:, None]).T @ features + ridge
        weights = weights - np.linalg.solve(bend, slope)
    return weights


@dataclass(frozen=True)
class Gated(Policy):
    """A policy that prunes a read only where that is expected to pay.

    Attributes:
        read, host: what came back, and who asked for it.
        forecast: foresees what the cut comes to.
    """

    read: Result | None = None
    host: str = ""
    forecast: Forecast | None = None

    def passes_judged(self, result: PruneResult, tokens_in: int, tokens_out: int) -> str | None:
        """As `Policy.passes_judged`, and where the cut isn't expected to pay."""
        reason = super().passes_judged(result, tokens_in, tokens_out)
        if reason is not None or self.read is None or self.forecast is None:
            return reason
        seen = seen_of(self.read, result, tokens_in - tokens_out, self.host)
        return None if self.forecast.pays(seen) else "expected to cost more than it saves"


def gated(policy: Policy, forecast: Forecast) -> OwnPolicy:
    """Gives each read a policy that prunes it where that is expected to pay."""
    limits = {each.name: getattr(policy, each.name) for each in fields(Policy)}

    def own(result: Result, session: Recorded) -> Policy:
        return Gated(**limits, read=result, host=session.host, forecast=forecast)

    return own
