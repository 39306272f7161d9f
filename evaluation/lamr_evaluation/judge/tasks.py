"""The tasks, as a table: how an item is asked in words and by likelihoods, and how each answer is graded.

A chat is answered in words. A weighing is a text and ends for it, whose likelihoods are the answer. A task's first
grade is the one that tables compare. All grades are from 0 to 1, and none asks a model."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from lamr_evaluation.judge.items import CHOICE, COMPLETION, OPEN, PLACE, Item
from lamr_evaluation.records import bare_lines

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
        return _key_of(SYSTEM, self.text, str(self.longest))


@dataclass(frozen=True)
class Weighing:
    """A text and the ends whose likelihood after it is asked for."""

    text: str
    ends: tuple[str, ...]

    @property
    def key(self) -> str:
        """What names the question."""
        return _key_of(self.text, *self.ends)


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
        """Read a reply."""
        fields: dict[str, Any] = json.loads(text)
        try:
            weighed = tuple(Likelihood(**each) for each in fields.pop("likelihoods"))
            return cls(likelihoods=weighed, **fields)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a reply ({error})") from error


def _key_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTER = re.compile(
    r"(?:\banswer(?: is)?\W{0,4}|\boption\s+|\()([A-Z])(?![\w'])|^\W{0,3}([A-Z])(?=\W*$|[).:])",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"```[^\n]*\n(.*?)(?:\n?```|\Z)", re.DOTALL)


def chosen_letter(text: str, count: int) -> str | None:
    """Return the letter of the choice that an answer names, the last one if it names several; None if it names none."""
    named = ((after or first).upper() for after, first in _LETTER.findall(text))
    found = [letter for letter in named if letter in LETTERS[:count]]
    return found[-1] if found else None


def next_lines(text: str, count: int) -> list[str]:
    """Return the first `count` lines of an answer that have ink, stripped, without a fence around them."""
    fenced = _FENCE.search(text)
    lines = [line.strip() for line in (fenced[1] if fenced else text).splitlines()]
    return [line for line in lines if line][:count]


def edit_similarity(one: str, other: str) -> float:
    """Return twice the characters that two texts have in common over those that they have in all, as LongBench does."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def named_facts(text: str, facts: Sequence[str]) -> float:
    """Return the share of facts that an answer names as whole words, in any case and with any white space."""
    said = " ".join(text.casefold().split())
    plain = [re.escape(" ".join(fact.casefold().split())) for fact in facts]
    return sum(re.search(rf"(?<!\w){fact}(?!\w)", said) is not None for fact in plain) / len(plain)


def quoted_lines(text: str, lines: Sequence[str], gold: Sequence[int]) -> float:
    """Return the F1 of an answer's quoted lines against the lines to change; quotes of other text are wrong."""
    wanted = {lines[number - 1].strip() for number in gold} - {""}
    said = set(next_lines(text, len(lines)))
    hits = len(wanted & said)
    return 2 * hits / (len(wanted) + len(said)) if wanted and said else 0.0


Grades = dict[str, float]
GRADES = {
    "right": "the share of items whose right choice is chosen",
    "chance": "the probability of the right choice among the choices",
    "likelihood": "the geometric mean of the probabilities of the truth's tokens",
    "edit similarity": "edit similarity to the true next lines",
    "exact": "the share of items whose next lines are exactly the true ones",
    "facts": "the share of facts that the answer names",
    "F1 of lines": "F1 of quoted lines against those that the change touched",
}
"""What each grade is, in words. By likelihoods, a choice is chosen that is likelier for each byte than the others."""
_ANSWER_TOKENS = 512
_BRIEFLY = "Answer in at most five sentences."
_DISTRACTORS = 3


@dataclass(frozen=True)
class Task:
    """One task."""

    chat: Callable[[Item, str], Chat]  # asks an item with the code that a pruner kept
    grade: Callable[[Item, str], Grades]  # grades the answer in words
    weighing: Callable[[Item, str], Weighing]  # asks for likelihoods
    weigh: Callable[[Item, Sequence[Likelihood]], Grades]


def _shown(item: Item, code: str) -> str:
    name = f" of {item.path}" if item.path else ""
    return f"The code{name}:\n\n{code}\n\n" if code.strip() else ""


def _chat_choice(item: Item, code: str) -> Chat:
    listed = "\n".join(f"{letter}) {choice}" for letter, choice in zip(LETTERS, item.choices, strict=False))
    text = (
        f"{_shown(item, code)}{item.query}\n\n{listed}\n\nAnswer with the letter of the right choice alone."
    )
    return Chat(text, 16)


def _grade_choice(item: Item, text: str) -> Grades:
    right = LETTERS[item.choices.index(item.answer)]
    return {"right": float(chosen_letter(text, len(item.choices)) == right)}


def _weighing_answer(item: Item, code: str) -> Weighing:
    ends = tuple(f" {each}" for each in (item.choices if item.task == CHOICE else (item.answer,)))
    return Weighing(f"{_shown(item, code)}Question: {item.query}\nAnswer:", ends)


def _chosen(likelihoods: Sequence[Likelihood], ends: Sequence[str], right: int) -> Grades:
    rates = np.array([each.log_prob / len(end.encode()) for each, end in zip(likelihoods, ends, strict=True)])
    best = np.flatnonzero(rates == rates.max())
    totals = np.array([each.log_prob for each in likelihoods])
    chances = np.exp(totals - totals.max())
    return {
        "right": float(right in best) / len(best),
        "chance": float(chances[right] / chances.sum()),
        "likelihood": likelihoods[right].mean,
    }


def _chat_completion(item: Item, code: str) -> Chat:
    count = len(next_lines(item.answer, len(item.answer)))
    ask = "Write the next line" if count == 1 else f"Write the next {count} lines"
    shown = f"{_shown(item, code)}The code goes on, uncut:\n\n{item.query}\n\n"
    return Chat(f"{shown}{ask} of code, and nothing else.", _ANSWER_TOKENS)


def _grade_completion(item: Item, text: str) -> Grades:
    wanted = next_lines(item.answer, len(item.answer))
    said = next_lines(text, len(wanted))
    return {
        "edit similarity": edit_similarity("\n".join(said), "\n".join(wanted)),
        "exact": float(said == wanted),
    }


def _weighing_completion(item: Item, code: str) -> Weighing:
    before = f"{code.rstrip()}\n\n" if code.strip() else ""
    return Weighing(before + item.query.rstrip("\n"), ("\n" + item.answer.rstrip("\n"),))


def _weigh_end(_item: Item, likelihoods: Sequence[Likelihood]) -> Grades:
    return {"likelihood": likelihoods[0].mean}


def _chat_place(item: Item, code: str) -> Chat:
    ask = "Which lines of the code have to change for it? Copy them, one a line, and write nothing else."
    return Chat(f"{_shown(item, code)}A change is wanted:\n\n{item.query}\n\n{ask}", _ANSWER_TOKENS)


def _weighing_place(item: Item, code: str) -> Weighing:
    text = (
        f"{_shown(item, code)}A change is wanted: {item.query}\nThe line of the code that has to change is:\n"
    )
    return Weighing(text, candidates(item))


def candidates(item: Item) -> tuple[str, ...]:
    """Return a line to change and at most three others of the file that are about as long, each once. The first is the
    longest of the lines to change, since a bracket alone says nothing. No other is one of them."""
    lines = bare_lines(item.code)
    gold = {lines[number - 1].strip() for number in item.gold}
    first = max(sorted(gold), key=len)
    others = sorted(
        {line.strip() for line in lines} - gold - {""}, key=lambda line: (abs(len(line) - len(first)), line)
    )
    return (first, *others[:_DISTRACTORS])


TASKS: dict[str, Task] = {
    CHOICE: Task(
        *(_chat_choice, _grade_choice, _weighing_answer),
        lambda item, found: _chosen(found, item.choices, item.choices.index(item.answer)),
    ),
    COMPLETION: Task(_chat_completion, _grade_completion, _weighing_completion, _weigh_end),
    OPEN: Task(
        lambda item, code: Chat(f"{_shown(item, code)}{item.query}\n\n{_BRIEFLY}", _ANSWER_TOKENS),
        lambda item, text: {"facts": named_facts(text, item.facts or (item.answer,))},
        *(_weighing_answer, _weigh_end),
    ),
    PLACE: Task(
        _chat_place,
        lambda item, text: {"F1 of lines": quoted_lines(text, bare_lines(item.code), item.gold)},
        _weighing_place,
        lambda item, found: _chosen(found, candidates(item), 0),
    ),
}
