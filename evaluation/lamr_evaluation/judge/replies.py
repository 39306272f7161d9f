"""Answers by question: those that are kept, and those that are asked for now, within the budget.

An answer is on the disk before the next is looked at, and what is under way when a run ends is kept, too.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from lamr_evaluation.judge.asking import SYSTEM, Chat, Question, Reply
from lamr_evaluation.judge.bench import Bench, Judgement
from lamr_evaluation.judge.readers import Reader, RefusedError
from lamr_evaluation.judge.spending import Cost

REPLY_KIND = "judge reply"
_FRAME_TOKENS = 16  # what chat templates put around messages, at the most


class Replies:
    """Answers by question: those that are kept, and those that are asked for now."""

    def __init__(self, bench: Bench, found: Judgement) -> None:
        self._bench, self._found = bench, found
        self._known: dict[str, Reply] = {}

    def of(self, question: Question, reader: Reader) -> Reply:
        """Return the answer to a question that was asked."""
        return self._known[_key(reader, question)]

    def foresee(
        self, asked: Sequence[tuple[int, Question]], reader: Reader
    ) -> dict[str, tuple[Question, Cost]]:
        """Say what asking will cost at most; return the questions without an answer, by key, with their costs."""
        by_key = {_key(reader, question): question for _, question in asked}
        kept = self._bench.cache.get(REPLY_KIND, by_key) if reader.key is not None else {}
        self._known.update((key, Reply.from_json(data)) for key, data in kept.items())
        costs = {key: (each, self._most(each)) for key, each in by_key.items() if key not in self._known}
        foreseen = sum((most for _, most in costs.values()), Cost())
        self._found.foreseen += foreseen
        self._found.known += len(kept)
        self._bench.on_foreseen(foreseen, len(kept))
        return costs

    def ask(self, asked: Sequence[tuple[int, Question]], reader: Reader) -> None:
        """Ask what isn't known, and say before what it will cost. An item with a question that fails is left out."""
        failed = self._answers(self.foresee(asked, reader), reader)
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

    def _answers(self, waiting: Mapping[str, tuple[Question, Cost]], reader: Reader) -> dict[str, str]:
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
                        question, most = waiting[key]
                        if ledger.reserve(most):
                            under_way[pool.submit(reader.answer, question)] = key
                        else:
                            failed[key] = "the budget was used up; run again with a larger one"
                        if len(under_way) >= reader.at_once:
                            break
                    if not under_way:
                        return failed
                    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                        key = under_way.pop(future)
                        self._settle(future, key, waiting[key][1], failed, reader)
                        done += 1
                        self._bench.progress("asking", done, len(waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for future, key in under_way.items():
                    with contextlib.suppress(
                        Exception
                    ):  # what is under way is paid for, so its answers are kept
                        self._settle(future, key, waiting[key][1], failed, reader)
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


def _key(reader: Reader, question: Question) -> str:
    return hashlib.sha256(f"{reader.key}\0{question.key}".encode()).hexdigest()
