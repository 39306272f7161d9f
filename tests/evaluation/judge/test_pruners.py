"""Pruners: all keep whole lines within the same number of tokens, and each keeps what it is for."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lamr_client import Pruner
from lamr_evaluation.judge import PRUNERS, Setup, pruners
from lamr_evaluation.judge.pruners import KeptScorer, kept_key, timed
from lamr_export import TorchScorer
from lamr_model.counters import token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository
from lamr_repositories.compression import compress_chunks

from tests.evaluation.judge.material import CHOICE_ITEM, CODE, ITEMS
from tests.repositories.compression.causal_models import write_causal

COUNT = token_counter(None, PromptEncoder.from_repository(bundled_repository()))
LINES = CODE.splitlines()


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    scorer = TorchScorer(write_causal("llama", tmp_path_factory.mktemp("causal") / "coder"))
    with Pruner() as pruner:
        yield Setup(COUNT, pruner, scorer=scorer)


@pytest.mark.parametrize("name", [each for each in PRUNERS if each not in ("whole", "none")])
@pytest.mark.parametrize("share", [0.5, 0.25, 0.06])
def test_budgets_hold_and_lines_are_those_of_the_code(setup: Setup, name: str, share: float) -> None:
    pruner = PRUNERS[name](setup)
    assert pruner is not None
    for item in ITEMS:
        budget = int(COUNT.count_tokens(item.code) * share)
        kept = timed(pruner, item, budget, COUNT)
        assert COUNT.count_tokens(kept.text) == kept.tokens <= budget
        shown = kept.text.splitlines()
        assert all(LINES[number - 1] in shown for number in kept.lines)
        assert kept.lines == tuple(sorted(set(kept.lines)))
        if share == 0.5:
            assert kept.tokens > budget / 2


def test_the_oracle_keeps_what_the_answer_needs_and_head_and_tail_both_ends(setup: Setup) -> None:
    for item in ITEMS:
        if item.gold:
            kept = timed(PRUNERS["oracle"](setup), item, COUNT.count_tokens(CODE) // 4, COUNT)
            assert set(item.gold) <= set(kept.lines)
    kept = timed(PRUNERS["head-tail"](setup), CHOICE_ITEM, COUNT.count_tokens(CODE) // 4, COUNT)
    assert {1, len(LINES)} <= set(kept.lines)
    assert len(LINES) // 2 not in kept.lines


def test_longcodezip_needs_a_model_which_it_asks_once_for_all_budgets_of_an_item(setup: Setup) -> None:
    bare = Setup(COUNT, setup.pruner)
    missing = {name for name, make in PRUNERS.items() if make(bare) is None}
    assert missing == {"longcodezip"}
    asked = Counting(setup.scorer)
    pruner = PRUNERS["longcodezip"](Setup(COUNT, setup.pruner, scorer=asked))
    for share in (2, 4, 8):
        pruner(CHOICE_ITEM, COUNT.count_tokens(CODE) // share)
    assert len(asked.sequences) == len(set(asked.sequences)) > 0


def test_longcodezip_aims_at_its_budget_within_a_function_that_is_larger(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noted(chunks, question, scorer, options, **using):
        asked.append(options)
        return compress_chunks(chunks, question, scorer, options, **using)

    monkeypatch.setattr(pruners, "compress_chunks", noted)
    calls = "".join(f"    x{n} = f{n}(x{n - 1})\n" for n in range(1, 60))
    item = replace(CHOICE_ITEM, code=f"def f(x0):\n{calls}    return x59\n")
    PRUNERS["longcodezip"](setup)(item, COUNT.count_tokens(item.code) // 5)
    assert [options.rank_only for options in asked] == [True, False]
    assert asked[1].fine_ratio == pytest.approx(0.2, abs=0.02)


def test_kept_answers_are_those_of_the_scorer(setup: Setup) -> None:
    kept = KeptScorer(setup.scorer)
    ids = [kept.encode(text) for text in ("def area():\n", "def area():\n    return 1\n")]
    for _ in range(2):
        for mine, own in zip(kept.log_probs(ids, [2, 3]), setup.scorer.log_probs(ids, [2, 3]), strict=True):
            np.testing.assert_allclose(mine, own, atol=1e-5)


class Counting:
    """A scorer that notes what it is asked."""

    def __init__(self, scorer: TorchScorer) -> None:
        self.scorer, self.sequences = scorer, []
        self.name, self.key, self.max_tokens, self.encode = (
            scorer.name,
            scorer.key,
            scorer.max_tokens,
            scorer.encode,
        )

    def log_probs(self, sequences, firsts=None):
        self.sequences += [(ids.tobytes(), first) for ids, first in zip(sequences, firsts, strict=True)]
        return self.scorer.log_probs(sequences, firsts)


def test_keys_tell_budgets_items_and_pruners_apart(setup: Setup) -> None:
    pruners = [PRUNERS[name](setup) for name in ("bm25", "lamr-instant", "lamr-full", "longcodezip")]
    keys = {kept_key(pruner, item, budget) for pruner in pruners for item in ITEMS for budget in (10, 20)}
    assert len(keys) == len(pruners) * len(ITEMS) * 2


def test_whole_none_and_what_is_too_small(setup: Setup, tmp_path: Path) -> None:
    whole, none = (timed(PRUNERS[name](setup), CHOICE_ITEM, 10, COUNT) for name in ("whole", "none"))
    assert (whole.text, len(whole.lines)) == (CODE, len(LINES))
    assert (none.text, none.lines, none.tokens) == ("", (), 0)
    kept = timed(PRUNERS["bm25"](setup), CHOICE_ITEM, 3, COUNT)
    assert (kept.text, kept.lines) == ("", ())
