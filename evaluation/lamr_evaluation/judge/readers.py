"""Who answers: what is asked about an item and a pruner's code. A reader behind an endpoint is a module beside this
one.

A causal language model may be a reader: it weighs the ends that the truth and its rivals are, and writes nothing. So a
model of any size answers on any machine. Small models have small windows: a question that doesn't fit is refused.
"""

from __future__ import annotations

import threading
from typing import Protocol

from lamr_base.errors import InvalidInputError
from lamr_model.perplexity.causal_scorer import CausalScorer
from lamr_model.perplexity.continuations import Ask, continuations

from lamr_evaluation.judge.asking import Likelihood, Question, Reply, Weighing
from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.tasks import TASKS, Grades


class RefusedError(InvalidInputError):
    """A reader can't take a question: it is longer than the window, or the endpoint refuses it. Others may be taken."""


class Reader(Protocol):
    """A model that answers.

    Attributes:
        name: what tables call it.
        key: names the model, so that answers may be kept; None where they may not.
        at_once: how many questions it may be asked at a time.
    """

    name: str
    key: str | None
    at_once: int

    def ask(self, item: Item, code: str) -> Question:
        """Return what it is asked about an item and the code that a pruner kept."""
        ...

    def answer(self, question: Question) -> Reply:
        """Answer.

        Raises:
            RefusedError: it can't take this question.
            ServerError: it can't be asked at all.
        """
        ...

    def grade(self, item: Item, reply: Reply) -> Grades:
        """Grade an answer."""
        ...


class LikelihoodReader:
    """A reader on a `CausalScorer`. Calls of several threads take turns."""

    at_once = 1

    def __init__(self, scorer: CausalScorer, name: str) -> None:
        """Take a scorer that its owner closes."""
        self.name = name
        self.key = None if scorer.key is None else f"likelihood\0{scorer.key}"
        self._scorer = scorer
        self._turn = threading.Lock()

    def ask(self, item: Item, code: str) -> Weighing:
        """See `Reader.ask`."""
        return TASKS[item.task].weighing(item, code)

    def answer(self, question: Question) -> Reply:
        """See `Reader.answer`."""
        if not isinstance(question, Weighing):
            raise TypeError("this reader weighs ends and doesn't write")
        with self._turn:
            found = continuations(self._scorer, [Ask(question.text, question.ends)])[0]
        if cut := max(each.cut for each in found):
            raise RefusedError(
                f"the question is {cut:,} tokens longer than the reader's window of {self._scorer.max_tokens:,}; take "
                "shorter items or another reader"
            )
        weighed = tuple(Likelihood(each.total, each.tokens) for each in found)
        tokens = len(self._scorer.encode(question.text))
        return Reply(likelihoods=weighed, tokens_in=tokens, tokens_out=sum(each.tokens for each in weighed))

    def grade(self, item: Item, reply: Reply) -> Grades:
        """See `Reader.grade`."""
        return TASKS[item.task].weigh(item, reply.likelihoods)
