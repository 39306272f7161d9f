"""llama.cpp's log-probabilities by llama-cpp-python, of small GGUF files: those of the models that they were made of.

pip compiles that package for an hour on two busy processors, so `make test` doesn't install it; `make test-llama-cpp`
does.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llama_cpp", reason="make test-llama-cpp compiles it")

from lamr_cli.scorers import scorer_of
from lamr_client import ClosedError, InvalidInputError, LlamaCppScorer, ModelMismatchError
from lamr_export import TorchScorer

from tests.export.gguf_files import bpe, tiny, write_gguf

TEXT = "def f(a_b):\n    return 'é 漢' + \"1\" * 2345 <|end|>\n\n\n    z   1"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("llama") / "tiny.gguf", tiny(bpe()), bpe(), "starcoder")


@pytest.fixture(scope="module")
def local(file) -> TorchScorer:
    return TorchScorer(file)


def test_numbers_and_tokens_are_those_of_the_same_weights(file, local) -> None:
    random = np.random.default_rng(0)
    base = random.integers(1, 300, 60)
    sequences = [
        *(np.concatenate([base, random.integers(1, 300, more)]) for more in (5, 1, 30)),
        base,
        random.integers(1, 300, 400),
        np.array([3]),
    ]
    with LlamaCppScorer(file, threads=1) as scorer:
        assert (scorer.name, scorer.max_tokens) == ("tiny", 512)
        assert scorer.encode(TEXT).tolist() == local.encode(TEXT).tolist()
        for firsts in (None, [58, 3, 61, 0, 390, 0]):
            expected = local.log_probs(sequences, firsts)
            for ours, theirs in zip(scorer.log_probs(sequences, firsts), expected, strict=True):
                np.testing.assert_allclose(ours, theirs, atol=0.02)
        with pytest.raises(InvalidInputError, match="1 to 512"):
            scorer.log_probs([np.zeros(513, np.int64)])
        with pytest.raises(InvalidInputError, match="vocabulary"):
            scorer.log_probs([np.array([100_000])])


def test_a_command_prefers_it(file) -> None:
    with scorer_of(str(file)) as scorer:
        assert isinstance(scorer, LlamaCppScorer)
    with pytest.raises(ClosedError):
        scorer.encode("a")


def test_a_damaged_file_is_told(file, tmp_path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(file.read_bytes()[:1000])
    for path in (broken, tmp_path / "none.gguf"):
        with pytest.raises(ModelMismatchError, match=r"llama\.cpp can't load"):
            LlamaCppScorer(path)
