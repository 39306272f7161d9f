"""A model that judges answers in words against the true ones, as SWE-QA's authors do; facts need none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lamr_evaluation.judge.asking import Chat, Reply
from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.readers import Reader
from lamr_evaluation.judge.tasks import Grades

_BEST = 10
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Opinion:
    """Asks a reader how good answers are."""

    reader: Reader

    def ask(self, item: Item, said: str) -> Chat:
        """Return the question about an answer. It holds no code: the judge compares words with words."""
        return Chat(
            f"A question about code:\n{item.query}\n\nThe true answer:\n{item.answer}\n\nA given answer:\n{said}\n\n"
            f"How much of the true answer does the given one say, without saying anything wrong? Answer with a number "
            f"from 0 (nothing, or wrong) to {_BEST} (all of it) alone.",
            16,
        )

    def grade(self, reply: Reply) -> Grades:
        """Return the grade that a judge gave; 0 where it gave none."""
        found = _NUMBER.search(reply.text)
        return {"judged": min(float(found[0]) / _BEST, 1.0) if found else 0.0}
