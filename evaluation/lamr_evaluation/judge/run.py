"""One judgement: each item pruned by each pruner to each share of its tokens, asked, and graded.

Answers are kept by content, on disk before the next is looked at; what is under way when a run ends is kept, too. So a
run that was killed goes on where it was, and one with more items or pruners asks what is new alone."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, astuple, dataclass, field

from lamr_base.cache import Cache
from lamr_base.errors import InvalidInputError
from lamr_model.counters import Counter
from lamr_repositories.options import OnProgress

from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.pruners import NONE, ORACLE, UNPRUNED, WHOLE, ItemPruner, Kept, kept_key, timed
from lamr_evaluation.judge.readers import Reader, RefusedError
from lamr_evaluation.judge.tasks import SYSTEM, Chat, Grades, Question, Reply
from lamr_evaluation.records import Problem


@dataclass(frozen=True)
class Cost:
    """How many questions, and their tokens that are read and written."""

    questions: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return f"{self.questions:,} questions, {self.tokens_in:,} tokens read, {self.tokens_out:,} written"


@dataclass(frozen=True)
class ShownItem:
    """What a reader sees of an item."""

    item: int  # its place among the items
    pruner: str  # the pruner's name
    share: float  # of the code's tokens that may be shown: 1 for everything, 0 for nothing
    kept: Kept  # what is shown
    whole: int  # the code's tokens


@dataclass(frozen=True)
class Answered:
    """What a reader said of it, and the grades."""

    shown: ShownItem
    reply: Reply
    grades: Grades


@dataclass(eq=False)
class Judgement:
    """All that a run found."""

    items: Sequence[Item]  # all that were asked about
    shown: dict[int, list[ShownItem]] = field(default_factory=dict)  # by item's place, what each pruner shows
    # by item's place; only items that were answered for every pruner
    answered: dict[int, list[Answered]] = field(default_factory=dict)
    foreseen: Cost = field(default_factory=Cost)  # what asking would cost at most, and did cost
    spent: Cost = field(default_factory=Cost)
    known: int = 0  # questions whose answers were kept from earlier runs
    left_out: dict[int, str] = field(default_factory=dict)  # items that can't be compared, and why

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
    """What judges."""

    reader: Reader  # who answers
    pruners: Mapping[str, ItemPruner]  # by name
    shares: Sequence[float]  # of an item's tokens that pruners may show
    count: Counter  # counts the reader's tokens
    cache: Cache  # keeps answers and what pruners kept
    # is told what asking will cost at most, before anything is asked, and how many answers are known
    on_foreseen: Callable[[Cost, int], None] = field(default=lambda *_: None)
    progress: OnProgress = field(default=lambda *_: None)  # is told what is done


KEPT_KIND = "judge kept"


def judge(items: Sequence[Item], bench: Bench, *, dry_run: bool = False) -> Judgement:
    """Judge pruners on items.

    Args:
        items: what is asked about.
        bench: what judges.
        dry_run: whether to prune and foresee the cost alone.

    Raises:
        ServerError: the reader, or a pruner's model, can't be asked at all; what was answered before is
            kept."""
    found = Judgement(items)
    found.shown = shown = dict(_all_shown(items, bench, found))
    questions = {
        each: bench.reader.ask(items[place], each.kept.text) for place, rows in shown.items() for each in rows
    }
    replies, asked = Replies(bench, found), [(each.item, question) for each, question in questions.items()]
    if dry_run:
        replies.foresee(asked)
        return found
    replies.ask(asked)
    for place, rows in shown.items():
        if place in found.left_out:
            continue
        given = [replies.of(questions[each]) for each in rows]
        found.answered[place] = [
            Answered(each, reply, bench.reader.grade(items[place], reply))
            for each, reply in zip(rows, given, strict=True)
        ]
    return found


def _all_shown(
    items: Sequence[Item], bench: Bench, found: Judgement
) -> Iterator[tuple[int, list[ShownItem]]]:
    for place, item in enumerate(items):
        rows = []
        try:
            whole = bench.count.count_tokens(item.code)
            for name, pruner in bench.pruners.items():
                shares = {WHOLE: (1.0,), NONE: (0.0,)}.get(name, bench.shares)
                for share in () if name == ORACLE and not item.gold else shares:
                    kept = _kept(pruner, item, whole if name in UNPRUNED else int(whole * share), bench)
                    rows.append(ShownItem(place, name, share, kept, whole))
            yield place, rows
        except InvalidInputError as error:
            found.left_out[place] = str(error)
        bench.progress("pruning", place + 1, len(items))


def _kept(pruner: ItemPruner, item: Item, budget: int, bench: Bench) -> Kept:
    key = kept_key(pruner, item, budget)
    data = bench.cache.get(KEPT_KIND, [key]).get(key) if key else None
    if data is not None:
        row = json.loads(data)
        return Kept(row["text"], tuple(row["lines"]), row["tokens"], row["seconds"])
    kept = timed(pruner, item, budget, bench.count)
    if key:
        bench.cache.put(KEPT_KIND, {key: json.dumps(asdict(kept)).encode()})
    return kept


REPLY_KIND = "judge reply"
_FRAME_TOKENS = 16  # what chat templates put around messages, at the most


class Replies:
    """Answers by question: those that are kept, and those that are asked for now."""

    def __init__(self, bench: Bench, found: Judgement) -> None:
        self._bench, self._reader, self._found = bench, bench.reader, found
        self._known: dict[str, Reply] = {}

    def of(self, question: Question) -> Reply:
        """Return the answer to a question that was asked."""
        return self._known[self._key(question)]

    def foresee(self, asked: Sequence[tuple[int, Question]]) -> dict[str, tuple[Question, Cost]]:
        """Say what asking will cost at most; return the questions without an answer, by key, with their costs."""
        by_key = {self._key(question): question for _, question in asked}
        kept = self._bench.cache.get(REPLY_KIND, by_key) if self._reader.key is not None else {}
        self._known.update((key, Reply.from_json(data)) for key, data in kept.items())
        costs = {key: (each, self._most(each)) for key, each in by_key.items() if key not in self._known}
        self._found.foreseen = sum((most for _, most in costs.values()), Cost())
        self._found.known = len(kept)
        self._bench.on_foreseen(self._found.foreseen, len(kept))
        return costs

    def ask(self, asked: Sequence[tuple[int, Question]]) -> None:
        """Ask what isn't known, and say before what it will cost. An item with a question that fails is left out."""
        failed = self._answers(self.foresee(asked))
        for place, question in asked:
            if (why := failed.get(self._key(question))) is not None:
                self._found.left_out.setdefault(place, why)

    def _most(self, question: Question) -> Cost:
        count = self._bench.count.count_tokens
        if isinstance(question, Chat):
            return Cost(1, count(question.text) + count(SYSTEM) + _FRAME_TOKENS, question.longest)
        return Cost(1, count(question.text), sum(map(count, question.ends)))

    def _answers(self, waiting: Mapping[str, tuple[Question, Cost]]) -> dict[str, str]:
        """Ask, so many at a time as the reader takes; return why questions have no answer."""
        failed: dict[str, str] = {}
        under_way: dict[Future[Reply], str] = {}
        queue = iter(waiting.items())
        done = 0
        with ThreadPoolExecutor(self._reader.at_once) as pool:
            try:
                while True:
                    for key, (question, _) in itertools.islice(queue, self._reader.at_once - len(under_way)):
                        under_way[pool.submit(self._reader.answer, question)] = key
                    if not under_way:
                        return failed
                    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                        key = under_way.pop(future)
                        self._settle(future, key, waiting[key][1], failed)
                        done += 1
                        self._bench.progress("asking", done, len(waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for future, key in under_way.items():
                    with contextlib.suppress(Exception):  # what is under way is paid for, so it is kept
                        self._settle(future, key, waiting[key][1], failed)
                raise

    def _settle(self, future: Future[Reply], key: str, most: Cost, failed: dict[str, str]) -> None:
        try:
            reply = future.result()
        except RefusedError as error:
            failed[key] = str(error)
            return
        # Some servers don't say what they counted.
        tokens_in = reply.tokens_in or most.tokens_in
        tokens_out = reply.tokens_out or (self._bench.count.count_tokens(reply.text) if reply.text else 0)
        self._found.spent += Cost(1, tokens_in, tokens_out)
        self._known[key] = reply
        if self._reader.key is not None:
            self._bench.cache.put(REPLY_KIND, {key: reply.to_json().encode()})

    def _key(self, question: Question) -> str:
        return hashlib.sha256(f"{self._reader.key}\0{question.key}".encode()).hexdigest()
