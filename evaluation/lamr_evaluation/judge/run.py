"""One judgement: each item pruned by each pruner to each share of its tokens, asked, and graded.

Answers are kept by content, on disk as soon as they are there. So a run that was killed goes on where it was, and one
with more items or pruners asks what is new alone. Items are finished one after another: where a budget ends a run, what
was answered for every pruner is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from lamr_contract.errors import InvalidInputError

from lamr_evaluation.judge.bench import Answered, Bench, Judgement, Shown
from lamr_evaluation.judge.items import OPEN, Item
from lamr_evaluation.judge.keeping import Kept, Pruner, kept_key, timed
from lamr_evaluation.judge.pruners import NONE, ORACLE, UNPRUNED, WHOLE
from lamr_evaluation.judge.readers import Opinion
from lamr_evaluation.judge.replies import Replies

KEPT_KIND = "judge kept"


def judge(items: Sequence[Item], bench: Bench, *, dry_run: bool = False) -> Judgement:
    """Judge pruners on items.

    Args:
        items: what is asked about.
        bench: what judges.
        dry_run: whether to prune and foresee the cost alone.

    Raises:
        ServerError: the reader, or a pruner's model, can't be asked at all; what was answered before is kept.
    """
    found = Judgement(items)
    found.shown = shown = dict(_all_shown(items, bench, found))
    questions = {
        each: bench.reader.ask(items[place], each.kept.text) for place, rows in shown.items() for each in rows
    }
    replies = Replies(bench, found)
    asked = [(each.item, question) for each, question in questions.items()]
    if dry_run:
        replies.foresee(asked, bench.reader)
        return found
    replies.ask(asked, bench.reader)
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


def _add_opinions(opinion: Opinion, found: Judgement, replies: Replies) -> None:
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
