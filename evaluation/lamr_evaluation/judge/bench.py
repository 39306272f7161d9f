"""What judges, and what a judgement is: plain data that a run fills in. And what asking costs.

Costs are foreseen before, counted meanwhile, and never beyond a budget: a question is reserved for before it is sent,
at the most that it can cost, so that what is under way together stays within the budget too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lamr_contract.cache import Cache
from lamr_contract.counters import Counter
from lamr_repositories.progress import OnProgress

from lamr_evaluation.judge.asking import Reply
from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.keeping import Kept, Pruner
from lamr_evaluation.judge.readers import Opinion, Reader
from lamr_evaluation.judge.tasks import Grades
from lamr_evaluation.problems import Problem

_MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Questions, their tokens, and what those cost.

    Attributes:
        questions: how many.
        tokens_in, tokens_out: read and written.
        dollars: by the prices; 0 without any.
    """

    questions: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0

    @property
    def tokens(self) -> int:
        """Return all tokens."""
        return self.tokens_in + self.tokens_out

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.questions + other.questions,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.dollars + other.dollars,
        )

    def __sub__(self, other: Cost) -> Cost:
        return self + Cost(-other.questions, -other.tokens_in, -other.tokens_out, -other.dollars)

    def __str__(self) -> str:
        money = f", ${self.dollars:,.4f}" if self.dollars else ""
        return f"{self.questions:,} questions, {self.tokens_in:,} tokens read, {self.tokens_out:,} written{money}"


@dataclass(frozen=True)
class Prices:
    """Dollars for a million tokens that are read and written."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def of(self, tokens_in: int, tokens_out: int) -> Cost:
        """Return the cost of one question."""
        dollars = (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / _MILLION
        return Cost(1, tokens_in, tokens_out, dollars)


@dataclass(frozen=True)
class Budget:
    """The most that may be spent; None where there is no end."""

    tokens: int | None = None
    dollars: float | None = None

    def holds(self, cost: Cost) -> bool:
        """Whether a cost is within it."""
        within = self.tokens is None or cost.tokens <= self.tokens
        return within and (self.dollars is None or cost.dollars <= self.dollars)


class Ledger:
    """Counts what is spent and what is under way. Threads may share one."""

    def __init__(self, budget: Budget) -> None:
        """Begin with nothing spent."""
        self._budget = budget
        self._spent, self._reserved = Cost(), Cost()
        self._turn = threading.Lock()

    def reserve(self, most: Cost) -> bool:
        """Set the most that a question can cost aside; False where the budget doesn't hold it."""
        with self._turn:
            if not self._budget.holds(self._spent + self._reserved + most):
                return False
            self._reserved = self._reserved + most
            return True

    def settle(self, most: Cost, cost: Cost) -> None:
        """Put what a question did cost, nothing where it failed, in the place of what was set aside."""
        with self._turn:
            self._reserved = self._reserved - most
            self._spent = self._spent + cost

    @property
    def spent(self) -> Cost:
        """Return what was spent so far."""
        with self._turn:
            return self._spent


@dataclass(frozen=True)
class Shown:
    """What a reader sees of an item.

    Attributes:
        item: its place among the items.
        pruner: the pruner's name.
        share: of the code's tokens that may be shown: 1 for everything, 0 for nothing.
        kept: what is shown.
        whole: the code's tokens.
    """

    item: int
    pruner: str
    share: float
    kept: Kept
    whole: int


@dataclass(frozen=True)
class Answered:
    """What a reader said of it, and the grades."""

    shown: Shown
    reply: Reply
    grades: Grades


@dataclass(eq=False)
class Judgement:
    """All that a run found.

    Attributes:
        items: all that were asked about.
        shown: by item's place, what each pruner shows.
        answered: by item's place; only items that were answered for every pruner.
        foreseen, spent: what asking would cost at most, and did cost.
        known: questions whose answers were kept from earlier runs.
        left_out: items that can't be compared, and why.
    """

    items: Sequence[Item]
    shown: dict[int, list[Shown]] = field(default_factory=dict)
    answered: dict[int, list[Answered]] = field(default_factory=dict)
    foreseen: Cost = field(default_factory=Cost)
    spent: Cost = field(default_factory=Cost)
    known: int = 0
    left_out: dict[int, str] = field(default_factory=dict)

    @property
    def cut(self) -> int:
        """Return how many answers ended because they had no more room."""
        return sum(row.reply.cut for rows in self.answered.values() for row in rows)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the items that were left out, by their rows."""
        rows = ((self.items[place].row or place + 1, why) for place, why in self.left_out.items())
        return tuple(Problem(*each) for each in sorted(rows))


@dataclass(frozen=True, eq=False)
class Bench:
    """What judges.

    Attributes:
        reader: who answers.
        pruners: by name.
        shares: of an item's tokens that pruners may show.
        count: counts the reader's tokens.
        cache: keeps answers and what pruners kept.
        prices: of the reader.
        ledger: counts what is spent.
        opinion: grades answers in words; None leaves that out.
        on_foreseen: is told what asking will cost at most, before anything is asked, and how many answers are known.
        progress: is told what is done.
    """

    reader: Reader
    pruners: Mapping[str, Pruner]
    shares: Sequence[float]
    count: Counter
    cache: Cache
    ledger: Ledger
    prices: Prices = field(default_factory=Prices)
    opinion: Opinion | None = None
    on_foreseen: Callable[[Cost, int], None] = field(default=lambda *_: None)
    progress: OnProgress = field(default=lambda *_: None)
