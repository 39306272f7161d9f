"""The ranker `perplexity`: the best pieces in the order of LongCodeZip's coarse stage, kept for the next question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lamr_contract.cache import Cache
from lamr_contract.errors import InvalidInputError
from lamr_export import TorchScorer
from lamr_repositories import PackOptions, pack, prepare
from lamr_repositories.compression import Perplexity
from lamr_repositories.compression.coarse import falls, mutual_information, order_of
from lamr_repositories.foreseeing import Foreseer
from lamr_repositories.reading_time import JudgeCount

from tests.repositories.compression.causal_models import SAMPLE, write_causal
from tests.repositories.conftest import QUERY

OPTIONS = PackOptions(ranker="perplexity")


class Counting:
    """A scorer that counts the sequences that it is asked about."""

    def __init__(self, scorer: TorchScorer) -> None:
        self.name, self.max_tokens, self.key = scorer.name, scorer.max_tokens, scorer.key
        self.encode = scorer.encode
        self._scorer, self.asked = scorer, 0

    def log_probs(self, sequences, firsts=None):
        self.asked += len(sequences)
        return self._scorer.log_probs(sequences, firsts)


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> TorchScorer:
    return TorchScorer(write_causal("qwen2", tmp_path_factory.mktemp("causal") / "coder"))


@pytest.fixture
def scorer(local) -> Counting:
    return Counting(local)


def test_the_order_is_that_of_mutual_information(local) -> None:
    chunks = SAMPLE.split("\n\n\n")
    model = Perplexity(local)
    found = falls(chunks, QUERY, model)
    assert len(np.unique(found)) > 3
    assert order_of(found).tolist() == order_of(mutual_information(chunks, QUERY, model)).tolist()


def test_lines_of_a_piece_have_its_value_and_the_best_come_first(scorer) -> None:
    texts = ["a = 1\nb = 2\n\ndef f():\n    return 3\n", "waiting = None\r\nx = 0\r\n"]
    wanted = [(0, 3, 5), (1, 0, 2), (0, 0, 2)]
    count = JudgeCount()
    found = Foreseer(scorer, QUERY, Cache(None)).judge(texts, wanted, 2, count)
    values = falls(["def f():\n    return 3", "waiting = None\nx = 0"], QUERY, Perplexity(scorer))
    assert found[0].judged.tolist() == [False, False, False, True, True]
    assert found[0].relevance[3:].tolist() == pytest.approx([values[0]] * 2, abs=1e-5)
    assert found[1].relevance.tolist() == pytest.approx([values[1]] * 2, abs=1e-5)
    assert (count.chunks, count.cached) == (2, 0)


def test_a_pack_by_perplexity_keeps_whole_pieces_and_its_budget(folder: Path, scorer) -> None:
    result = pack(folder, QUERY, 600, options=OPTIONS, scorer=scorer)
    assert result.tokens <= 600
    assert result.counts.chunks > 10
    assert scorer.asked >= result.counts.chunks
    assert result.ranker == "perplexity"
    again = pack(folder, QUERY, 600, options=OPTIONS, scorer=scorer)
    assert again.text == result.text
    words = pack(folder, QUERY, 600, options=PackOptions(ranker="bm25"))
    assert words.text != result.text


def test_the_second_question_asks_nothing(folder: Path, scorer, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    seen: list[tuple[str, int, int]] = []
    first = pack(
        folder,
        QUERY,
        600,
        options=OPTIONS,
        scorer=scorer,
        cache=cache,
        on_progress=lambda *at: seen.append(at),
    )
    assert max(done for stage, done, _ in seen if stage == "chunks") == first.counts.chunks
    asked = scorer.asked
    second = pack(folder, QUERY, 600, options=OPTIONS, scorer=scorer, cache=cache)
    assert scorer.asked == asked
    assert second.counts.cached_chunks == second.counts.chunks == first.counts.chunks
    assert second.text == first.text
    pack(folder, "Who limits retries?", 600, options=OPTIONS, scorer=scorer, cache=cache)
    assert scorer.asked > asked


def test_it_needs_a_model_and_says_so(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match="--perplexity"):
        pack(folder, QUERY, 600, options=OPTIONS)


def test_a_ranker_of_another_model_needs_another_preparation(folder: Path, scorer) -> None:
    with prepare(folder, QUERY, options=OPTIONS, scorer=scorer) as prepared:
        assert prepared.pack(600, ranker="bm25").ranker == "bm25"
        with pytest.raises(InvalidInputError, match="prepare again"):
            prepared.pack(600, ranker="sum")
    with (
        prepare(folder, QUERY, options=PackOptions(ranker="bm25")) as prepared,
        pytest.raises(InvalidInputError, match="prepare again"),
    ):
        prepared.pack(600, ranker="perplexity")
