"""Who answers: what is asked about an item and a pruner's code. Each kind of reader is a module beside this one."""

from __future__ import annotations

from typing import Protocol

from lamr_contract.errors import InvalidInputError

from lamr_evaluation.judge.asking import Question, Reply
from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.tasks import Grades


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
