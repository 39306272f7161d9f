"""The stages by themselves, on numbers and on a scorer that knows no language."""

import itertools

import numpy as np
import pytest
from lamr_base.errors import InvalidInputError
from lamr_repositories.compression import CompressionOptions, Perplexity, compress, compress_chunks
from lamr_repositories.compression.fine import knapsack, lines_of, rates
from lamr_repositories.compression.perplexity import Target

from .causal_models import SAMPLE


def test_no_other_set_within_the_budget_is_worth_more() -> None:
    random = np.random.default_rng(0)
    for _ in range(30):
        values = random.normal(size=9).round(2)
        weights = random.integers(1, 12, 9).tolist()
        kept = {int(random.integers(9))}
        found = knapsack(values, weights, 30, kept)
        assert kept <= found
        sets = [kept | set(more) for count in range(9) for more in itertools.combinations(range(9), count)]
        fitting = [each for each in sets if sum(weights[place] for place in each) <= 30]
        best = max(sum(values[place] for place in each) for each in fitting)
        assert sum(weights[place] for place in found) <= 30
        assert sum(values[place] for place in found) == pytest.approx(best)


def test_shares_grow_with_the_score_and_meet_the_aim() -> None:
    shares = rates([1.0, 5.0, 3.0, 9.0], [20, 40, 2, 30], 0.4, 0.5, 5)
    assert shares[2] == 1.0
    assert shares[0] < shares[1] < shares[3]
    assert shares @ [20, 40, 2, 30] == pytest.approx(int(92 * 0.4), abs=1)


def test_functions_get_nothing_where_short_ones_use_up_the_aim() -> None:
    assert rates([1.0, 2.0, 3.0], [4, 4, 50], 0.1, 0.5, 5).tolist() == [1.0, 1.0, 0.0]


def test_every_second_blank_line_is_a_space() -> None:
    assert lines_of("\n\na\n\n\n\nb\n") == ("", " ", "a", " ", "", " ", "b", "")


class Counting:
    """A scorer that remembers what it was asked, and finds each token as likely as its number says."""

    def __init__(self, scorer, most: int = 512) -> None:
        self.encode, self.name, self.max_tokens, self.key = scorer.encode, "counting", most, None
        self.asked: list[list[np.ndarray]] = []

    def log_probs(self, sequences, firsts=None):
        self.asked.append(list(sequences))
        return [np.where(np.arange(len(ids)) > 0, -ids / 100, 0).astype(np.float32) for ids in sequences]


def test_beginnings_are_scored_with_what_they_begin(causal_scorer) -> None:
    scorer = Counting(causal_scorer("qwen2"))
    model = Perplexity(scorer)
    ids = np.arange(1, 9)
    targets = [Target(ids[:3], 1), Target(ids, 5), Target(ids[:5], 2), Target(ids[:3], 1), Target(ids[:1], 1)]
    losses = model.mean_losses(targets)
    assert [each.tolist() for each in scorer.asked[0]] == [ids.tolist()]
    assert losses[:4] == pytest.approx([0.025, 0.07, 0.04, 0.025])
    assert np.isnan(losses[4])


def test_a_text_beyond_the_window_loses_its_beginning(causal_scorer) -> None:
    scorer = Counting(causal_scorer("qwen2"), most=16)
    model = Perplexity(scorer)
    target = model.after("x = 1\n" * 40, "return")
    assert np.isfinite(model.mean_losses([target])).all()
    assert len(scorer.asked[0][0]) == 16
    assert scorer.asked[0][0].tolist() == target.ids[-16:].tolist()


def test_special_tokens_in_a_text_are_plain_text(causal_scorer) -> None:
    scorer = causal_scorer("llama")
    ids = scorer.tokenizer.encode("<|end|>").ids
    assert len(ids) > 2
    assert ids.count(scorer.tokenizer.token_to_id("<|end|>")) == 1


def test_a_compressed_file_is_marked_and_parses(causal_scorer) -> None:
    options = CompressionOptions(rate=0.5, fine_ratio=0.5, min_lines=2)
    seen = []
    found = compress(
        SAMPLE,
        "How long does a retry wait?",
        causal_scorer("qwen2"),
        options,
        path="sample.py",
        on_progress=lambda *at: seen.append(at),
    )
    compile(found.text, "sample.py", "exec")
    assert found.tokens < found.tokens_in
    assert found.pruned is not None
    assert found.pruned.cuts
    lines = SAMPLE.split("\n")
    assert all(lines[row - 1] in found.text for row in found.pruned.kept_lines)
    assert {stage for stage, *_ in seen} == {"functions", "sections"}


def test_what_fits_is_kept_whole_and_asks_nothing(causal_scorer) -> None:
    scorer = Counting(causal_scorer("qwen2"))
    found = compress(SAMPLE, "anything", scorer, CompressionOptions(target_tokens=100_000))
    assert found.text == SAMPLE
    assert not scorer.asked
    assert compress("", "anything", scorer).text == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0},
        {"rate": 1.5},
        {"fine_ratio": -1},
        {"beta": 2},
        {"context_budget": "+__import__"},
    ],
)
def test_options_that_mean_nothing_are_refused(wrong) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        CompressionOptions(**wrong)


def test_a_blank_question_is_refused(causal_scorer) -> None:
    with pytest.raises(InvalidInputError, match="blank"):
        compress_chunks(["a", "b"], " ", causal_scorer("qwen2"))
