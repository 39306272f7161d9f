"""One judgement: each item pruned by each pruner to each share of its tokens, asked, and graded.

Answers are kept by content, on disk as soon as they are there. So a run that was killed goes on where it was, and one
with more items or pruners asks what is new alone. Items are finished one after another: where a budget ends a run, what
was answered for every pruner is compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field

from lamr_contract.cache import Cache
from lamr_contract.counters import Counter
from lamr_contract.errors import InvalidInputError
from lamr_repositories.progress import OnProgress

from lamr_evaluation.judge.asking import SYSTEM, Chat, Question, Reply
from lamr_evaluation.judge.items import OPEN, Item
from lamr_evaluation.judge.keeping import Kept, Pruner, kept_key, timed
from lamr_evaluation.judge.opinions import Opinion
from lamr_evaluation.judge.pruners import NONE, ORACLE, UNPRUNED, WHOLE
from lamr_evaluation.judge.readers import Reader, RefusedError
from lamr_evaluation.judge.spending import Cost, Ledger, Prices
from lamr_evaluation.judge.tasks import Grades
from lamr_evaluation.problems import Problem

KEPT_KIND, REPLY_KIND = "judge kept", "judge reply"
_FRAME_TOKENS = 16  # what chat templates put around messages, at the most


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
        answered: by item's place; only items that every pruner answered.
        foreseen, spent: what asking would cost at most, and did cost.
        known: questions whose answers were kept from earlier runs.
        left_out: items that can't be compared, and why.
    """

    items: Sequence[Item]
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


def judge(items: Sequence[Item], bench: Bench) -> Judgement:
    """Judge pruners on items.

    Raises:
        ServerError: the reader, or a pruner's model, can't be asked at all; what was answered before is kept.
    """
    found = Judgement(items)
    shown = dict(_all_shown(items, bench, found))
    questions = {
        each: bench.reader.ask(items[place], each.kept.text) for place, rows in shown.items() for each in rows
    }
    replies = _Replies(bench, found)
    replies.ask([(each.item, question) for each, question in questions.items()], bench.reader)
    for place, rows in shown.items():
        if place in found.left_out:
            continue
        given = [replies.of(questions[each], bench.reader) for each in rows]
        found.answered[place] = [
            Answered(each, reply, bench.reader.grade(items[place], reply))
            for each, reply in zip(rows, given, strict=True)
        ]
    if bench.opinion is not None:
        _add_opinions(bench.opinion, found, replies)
    found.spent = bench.ledger.spent
    return found


def _all_shown(items: Sequence[Item], bench: Bench, found: Judgement) -> Iterator[tuple[int, list[Shown]]]:
    """Yield what each pruner shows of each item that none refuses."""
    for place, item in enumerate(items):
        try:
            yield place, list(_shown_of(place, item, bench))
        except InvalidInputError as error:
            found.left_out[place] = str(error)
        bench.progress("pruning", place + 1, len(items))


def _shown_of(place: int, item: Item, bench: Bench) -> Iterator[Shown]:
    whole = bench.count.count_tokens(item.code)
    for name, pruner in bench.pruners.items():
        if name == ORACLE and not item.gold:
            continue
        for share in {WHOLE: (1.0,), NONE: (0.0,)}.get(name, bench.shares):
            budget = whole if name in UNPRUNED else int(whole * share)
            yield Shown(place, name, share, _kept(pruner, item, budget, bench), whole)


def _kept(pruner: Pruner, item: Item, budget: int, bench: Bench) -> Kept:
    """Prune, or take what an earlier run kept."""
    key = kept_key(pruner, item, budget)
    data = bench.cache.get(KEPT_KIND, [key]).get(key) if key else None
    if data is not None:
        row = json.loads(data)
        return Kept(row["text"], tuple(row["lines"]), row["tokens"], row["seconds"])
    kept = timed(pruner, item, budget, bench.count)
    if key:
        bench.cache.put(KEPT_KIND, {key: json.dumps(asdict(kept)).encode()})
    return kept


class _Replies:
    """Answers by question: those that are kept, and those that are asked for now."""

    def __init__(self, bench: Bench, found: Judgement) -> None:
        self._bench, self._found = bench, found
        self._known: dict[str, Reply] = {}

    def of(self, question: Question, reader: Reader) -> Reply:
        """Return the answer to a question that was asked."""
        return self._known[_key(reader, question)]

    def ask(self, asked: Sequence[tuple[int, Question]], reader: Reader) -> None:
        """Ask what isn't known, and say before what it will cost. An item with a question that fails is left out."""
        by_key = {_key(reader, question): (place, question) for place, question in reversed(asked)}
        kept = self._bench.cache.get(REPLY_KIND, by_key) if reader.key is not None else {}
        self._known.update((key, Reply.from_json(data)) for key, data in kept.items())
        waiting = {key: each for key, each in reversed(by_key.items()) if key not in self._known}
        most = {key: self._most(question) for key, (_, question) in waiting.items()}
        foreseen = sum(most.values(), Cost())
        self._found.foreseen += foreseen
        self._found.known += len(kept)
        self._bench.on_foreseen(foreseen, len(kept))
        failed = self._answers(waiting, most, reader)
        for place, question in asked:
            if (why := failed.get(_key(reader, question))) is not None:
                self._found.left_out.setdefault(place, why)

    def _most(self, question: Question) -> Cost:
        """Return what a question costs at the most."""
        count = self._bench.count.count_tokens
        if isinstance(question, Chat):
            return self._bench.prices.of(
                count(question.text) + count(SYSTEM) + _FRAME_TOKENS, question.longest
            )
        return self._bench.prices.of(count(question.text), sum(map(count, question.ends)))

    def _answers(
        self, waiting: Mapping[str, tuple[int, Question]], most: Mapping[str, Cost], reader: Reader
    ) -> dict[str, str]:
        """Ask, so many at a time as the reader takes; return why questions have no answer."""
        failed: dict[str, str] = {}
        ledger = self._bench.ledger
        under_way: dict[Future[Reply], str] = {}
        queue = iter(waiting)
        done = 0
        with ThreadPoolExecutor(reader.at_once) as pool:
            try:
                while True:
                    for key in queue:
                        if ledger.reserve(most[key]):
                            under_way[pool.submit(reader.answer, waiting[key][1])] = key
                        else:
                            failed[key] = "the budget was used up; run again with a larger one"
                        if len(under_way) >= reader.at_once:
                            break
                    if not under_way:
                        return failed
                    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                        key = under_way.pop(future)
                        self._settle(future, key, most[key], failed, reader)
                        done += 1
                        self._bench.progress("asking", done, len(waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for future, key in under_way.items():
                    with contextlib.suppress(
                        Exception
                    ):  # what is under way is paid for, so its answers are kept
                        self._settle(future, key, most[key], failed, reader)
                raise

    def _settle(
        self, future: Future[Reply], key: str, most: Cost, failed: dict[str, str], reader: Reader
    ) -> None:
        try:
            reply = future.result()
        except RefusedError as error:
            self._bench.ledger.settle(most, Cost())
            failed[key] = str(error)
            return
        # Some servers don't say what they counted.
        tokens_in = reply.tokens_in or most.tokens_in
        tokens_out = reply.tokens_out or (self._bench.count.count_tokens(reply.text) if reply.text else 0)
        self._bench.ledger.settle(most, self._bench.prices.of(tokens_in, tokens_out))
        self._known[key] = reply
        if reader.key is not None:
            self._bench.cache.put(REPLY_KIND, {key: reply.to_json().encode()})


def _add_opinions(opinion: Opinion, found: Judgement, replies: _Replies) -> None:
    """Put what a judge says of answers in words before the other grades."""
    rows = [
        (place, row, opinion.ask(found.items[place], row.reply.text))
        for place, answered in found.answered.items()
        if found.items[place].task == OPEN
        for row in answered
    ]
    replies.ask([(place, question) for place, _, question in rows], opinion.reader)
    for place in found.left_out:
        found.answered.pop(place, None)
    graded = {
        id(row): {**opinion.grade(replies.of(question, opinion.reader)), **row.grades}
        for place, row, question in rows
        if place in found.answered
    }
    for place, answered in found.answered.items():
        found.answered[place] = [
            Answered(row.shown, row.reply, graded.get(id(row), row.grades)) for row in answered
        ]


def _key(reader: Reader, question: Question) -> str:
    return hashlib.sha256(f"{reader.key}\0{question.key}".encode()).hexdigest()
