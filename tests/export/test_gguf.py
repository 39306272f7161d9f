"""A GGUF file gives the tokens and log-probabilities of the model that it was made of; damaged ones are told."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from lamr_base.errors import MissingPackageError
from lamr_export import CheckpointError, TorchScorer
from lamr_export.causal_source import WORDS
from lamr_repositories.compression import CompressionOptions, compress
from tokenizers import Regex, pre_tokenizers
from transformers import Qwen2ForCausalLM

from tests.repositories.compression.causal_models import SAMPLE

from .gguf_files import bpe, tiny, write_gguf

TEXT = "x      y  12\r\n\tdef f(a_b): return 'é 漢' + \"1\" * 2345 <|end|>\n\n\n    z   1"


@pytest.fixture(scope="module")
def tokenizer():
    return bpe()


@pytest.fixture(scope="module")
def plain(tokenizer) -> Qwen2ForCausalLM:
    return tiny(tokenizer)


@pytest.fixture(scope="module")
def file(plain, tokenizer, tmp_path_factory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", plain, tokenizer, "starcoder")


@pytest.fixture(scope="module")
def scorer(file) -> TorchScorer:
    return TorchScorer(file)


def test_it_is_the_model_that_it_was_made_of(scorer, plain, tokenizer) -> None:
    tokenizer.encode_special_tokens = True
    ids = scorer.encode(TEXT)
    assert ids.tolist() == tokenizer.encode(TEXT).ids
    with torch.no_grad():
        scores = plain(torch.from_numpy(ids)[None]).logits[0].log_softmax(dim=-1).numpy()
    np.testing.assert_allclose(
        scorer.log_probs([ids])[0][1:], scores[np.arange(len(ids) - 1), ids[1:]], atol=1e-4
    )
    assert (scorer.name, scorer.max_tokens) == ("tiny", 512)
    assert len(scorer.key) == 16


def test_the_rule_of_words_matters(scorer, tokenizer, plain, tmp_path) -> None:
    """transformers by itself cuts by GPT-2's rule, which joins a space with a digit."""
    other = TorchScorer(write_gguf(tmp_path / "tiny.gguf", plain, tokenizer, "gpt-2"))
    assert other.encode("z   1").tolist() != scorer.encode("z   1").tolist()
    assert other.key != scorer.key


@pytest.mark.parametrize("rule", WORDS)
def test_each_rule_keeps_every_character(rule: str) -> None:
    cuts = [pre_tokenizers.Split(Regex(each), "isolated") for each in WORDS[rule]]
    found = pre_tokenizers.Sequence(cuts).pre_tokenize_str(TEXT)
    assert "".join(word for word, _ in found) == TEXT
    assert len(found) > 15


def test_it_chooses_what_its_folder_chooses(scorer, plain, tokenizer, tmp_path) -> None:
    plain.save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    options = CompressionOptions(rate=0.3, fine_ratio=0.3, min_lines=2)
    ours, theirs = (
        compress(SAMPLE, "How long does a retry wait?", each, options, path="sample.py", repair=False)
        for each in (scorer, TorchScorer(tmp_path))
    )
    assert ours.order == theirs.order
    assert ours.text == theirs.text != SAMPLE


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("a.gguf", lambda data: b"", "no GGUF file"),
        ("a.gguf", lambda data: b"<html>" + data, "no GGUF file"),
        ("a.gguf", lambda data: data[:50], "download it again if it is damaged"),
        ("a.gguf", lambda data: data[: len(data) // 2], "can't read this model"),
        ("a.gguf", lambda data: data.replace(b"qwen2", b"qwenX"), "can't read this model"),
        ("a-00001-of-00003.gguf", lambda data: data, "one of several parts"),
    ],
)
def test_what_cannot_be_read_is_told(file, tmp_path, name, change, message) -> None:
    (tmp_path / name).write_bytes(change(file.read_bytes()))
    with pytest.raises(CheckpointError, match=message):
        TorchScorer(tmp_path / name)


def test_a_missing_file_or_package_is_told(file, tmp_path, monkeypatch) -> None:
    with pytest.raises(CheckpointError, match="no file"):
        TorchScorer(tmp_path / "none.gguf")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingPackageError, match=r"'\.\[gguf\]'"):
        TorchScorer(file)
