"""What judges, and what a judgement is: plain data that a run fills in. And what asking costs, in tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lamr_contract.cache import Cache
from lamr_contract.counters import Counter
from lamr_repositories.progress import OnProgress

from lamr_evaluation.judge.asking import Reply
from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.keeping import Kept, Pruner
from lamr_evaluation.judge.readers import Reader
from lamr_evaluation.judge.tasks import Grades
from lamr_evaluation.problems import Problem


@dataclass(frozen=True)
class Cost:
    """How many questions, and their tokens that are read and written."""

    questions: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.questions + other.questions,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
        )

    def __str__(self) -> str:
        return f"{self.questions:,} questions, {self.tokens_in:,} tokens read, {self.tokens_out:,} written"


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
        on_foreseen: is told what asking will cost at most, before anything is asked, and how many answers are known.
        progress: is told what is done.
    """

    reader: Reader
    pruners: Mapping[str, Pruner]
    shares: Sequence[float]
    count: Counter
    cache: Cache
    on_foreseen: Callable[[Cost, int], None] = field(default=lambda *_: None)
    progress: OnProgress = field(default=lambda *_: None)
