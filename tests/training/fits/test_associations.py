"""Associations learn what goes with a query's words, and serve what was trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from lamr_contract.asked import NO_TOKENS, AskedDocument
from lamr_contract.encoding import PromptEncoder
from lamr_contract.layout import line_layout
from lamr_contract.scoring.features import LineFeatures
from lamr_contract.words import TermIndex
from lamr_evaluation.records import Record
from lamr_training.fits.associations import AssociationSettings, _Batch, _Model, fit_associations
from lamr_training.fits.network import NetworkSettings
from lamr_training.fits.word_examples import KNOWN_FEATURES, WordExample, frequent_words, word_example

from tests.tiny import BERT_PROMPT, make_spec, wordpiece

QUERY = "Mind the deadline"
LINES = ["timeout = 3", "colour = 3", "shape = area(3)", "", "    name = colour", "return shape"]
SETTINGS = AssociationSettings(
    width=8, epochs=30, files=4, rate=2e-2, network=NetworkSettings(width=8, reach=1, strides=(1,))
)


def records(count: int, gold: str = "timeout") -> list[Record]:
    """Files of shuffled lines, of which those with a word are gold that the query hasn't."""
    rng = np.random.default_rng(3)
    found = []
    for number in range(count):
        lines = [LINES[place] for place in rng.integers(len(LINES), size=30)] + LINES
        numbers = tuple(place for place, line in enumerate(lines, 1) if gold in line)
        found.append(Record(QUERY, "\n".join(lines), numbers, project=f"p{number}"))
    return found


def learnable(chosen: list[Record]) -> tuple[list[str], list[WordExample], torch.Tensor]:
    """The words of records, their examples, and vectors to begin with."""
    words = frequent_words(chosen, 100, 1)
    vocabulary = {word: number for number, word in enumerate(words)}
    vectors = torch.randn(len(words), 8, generator=torch.Generator().manual_seed(1))
    return words, [word_example(asked(record), record, vocabulary) for record in chosen], vectors


def asked(record: Record) -> AskedDocument:
    """A record as associations learn from it, without tokens."""
    words = wordpiece()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT))
    return AskedDocument.of(encoder, record.query, record.code, tokens=NO_TOKENS)


def features(query: str, code: str) -> np.ndarray:
    """What is known of lines without vectors."""
    return LineFeatures(query, code, line_layout(code)).matrix(KNOWN_FEATURES)


def test_a_word_of_code_is_found_by_another_word_of_the_query() -> None:
    words, examples, vectors = learnable(records(12))
    learned = fit_associations(words, vectors, examples, SETTINGS)
    code = "\n".join(
        ["area = 1", "shape = 2", "", "", "", "", "", "", "timeout = 4", "", "", "", "colour = 3"]
    )
    layout = line_layout(code)
    odds = learned.of(QUERY, TermIndex.of(code, layout), layout, features(QUERY, code))
    assert odds.argmax() == 8
    assert odds[8] > 0 > odds[[0, 1, 12]].max()


def test_what_is_served_is_what_was_trained() -> None:
    chosen = records(3)
    words, examples, vectors = learnable(chosen)
    examples = [replace(examples[0], query=np.zeros(0, np.int32)), *examples[1:]]
    torch.manual_seed(2)
    model = _Model(vectors, examples, SETTINGS).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.startswith("network"):
                parameter.add_(torch.randn_like(parameter))
        for table in (model.query, model.line, model.importance, model.prior):
            table.weight[0] = 0
        trained = model(_Batch.of(examples))
    served = model.associations(words)
    for record, odds, query in zip(chosen, trained, ("Is it?", QUERY, QUERY), strict=True):
        layout = line_layout(record.code)
        # Whether the query asks is the last of what is known, and the first record's query was taken away.
        known = features(QUERY, record.code)
        given = served.of(query, TermIndex.of(record.code, layout), layout, known)
        want = odds[: len(given)].numpy()
        # What standardizing adds to all lines alike is lost; weights are served as float16.
        np.testing.assert_allclose(given - given.mean(), want - want.mean(), atol=0.02)


def test_files_without_an_answer_teach_nothing_of_lines() -> None:
    words, examples, vectors = learnable(records(6))
    first = fit_associations(words, vectors, examples, SETTINGS)
    empty = replace(examples[0], gold=np.zeros_like(examples[0].gold))
    second = fit_associations(words, vectors, [*examples, empty], SETTINGS)
    np.testing.assert_array_equal(first.line, second.line)


def test_the_same_seed_gives_the_same_vectors() -> None:
    words, examples, vectors = learnable(records(6))
    settings = AssociationSettings(width=8, epochs=2, files=2)
    first, second = (fit_associations(words, vectors, examples, settings) for _ in range(2))
    np.testing.assert_array_equal(first.line, second.line)
    np.testing.assert_array_equal(first.query, second.query)


def test_files_that_teach_nothing_are_refused() -> None:
    words, examples, vectors = learnable(records(2, gold="nowhere"))
    with pytest.raises(ValueError, match="no file has both"):
        fit_associations(words, vectors, examples, SETTINGS)


def test_rare_and_long_words_get_no_vector() -> None:
    chosen = [Record("look", "alpha = beta\n" * 3 + "gamma = 1\n" + f"{'x' * 30} = 1\n", (1,))]
    assert set(frequent_words(chosen, 10, 1)) >= {"alpha", "beta", "gamma", "look"}
    assert "x" * 30 not in frequent_words(chosen, 10, 1)
    assert len(frequent_words(chosen, 2, 1)) == 2
    assert frequent_words(chosen, 10, 3) == ["look"], "a word of a query counts as much as three lines"
