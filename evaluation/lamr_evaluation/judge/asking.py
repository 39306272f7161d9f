"""What a reader is asked and what it answers: plain data that names an answer in the cache.

A question can be asked in two ways. A chat is answered in words. A weighing is a text and ends for it, whose
likelihoods are the answer: a reader that only completes texts can be asked so, and nothing is generated.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from typing import Any

SYSTEM = (
    "You answer questions about source code. Parts of the code may have been cut; comments say where. "
    "Answer from the code as it is shown, and do as the last line asks."
)


@dataclass(frozen=True)
class Chat:
    """A question in words."""

    text: str  # the code and the question
    longest: int  # the most tokens of an answer

    @property
    def key(self) -> str:
        """What names the question."""
        return _digest(SYSTEM, self.text, str(self.longest))


@dataclass(frozen=True)
class Weighing:
    """A text and the ends whose likelihood after it is asked for."""

    text: str
    ends: tuple[str, ...]

    @property
    def key(self) -> str:
        """What names the question."""
        return _digest(self.text, *self.ends)


Question = Chat | Weighing


@dataclass(frozen=True)
class Likelihood:
    """How likely an end is."""

    log_prob: float  # the sum over its tokens, in nats
    tokens: int  # how many they are

    @property
    def mean(self) -> float:
        """Return the geometric mean of its tokens' probabilities."""
        return math.exp(self.log_prob / max(self.tokens, 1))


@dataclass(frozen=True)
class Reply:
    """An answer."""

    text: str = ""  # in words; empty for a weighing
    likelihoods: tuple[Likelihood, ...] = ()  # of each end; empty for a chat
    tokens_in: int = 0  # what was read and written, as the reader counts; 0 where it doesn't say
    tokens_out: int = 0
    cut: bool = False  # whether the answer ended because it had no more room

    def to_json(self) -> str:
        """Return the JSON that `from_json` reads back equal."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Reply:
        """Read a reply.

        Raises:
            ValueError: it is none.
        """
        fields: dict[str, Any] = json.loads(text)
        try:
            weighed = tuple(Likelihood(**each) for each in fields.pop("likelihoods"))
            return cls(likelihoods=weighed, **fields)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a reply ({error})") from error


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
