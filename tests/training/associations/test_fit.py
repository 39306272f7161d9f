"""Associations learn what goes with a query's words, and serve what was trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lamr_contract.layout import line_layout
from lamr_evaluation.records import Record
from lamr_training.associations.examples import WordExample, frequent_words, word_example
from lamr_training.associations.fit import AssociationSettings, _Batch, _Model, fit_associations

QUERY = "Mind the deadline"
LINES = ["timeout = 3", "colour = 3", "shape = area(3)", "", "    name = colour", "return shape"]
SETTINGS = AssociationSettings(width=8, epochs=30, files=4, rate=2e-2)


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
    return words, [word_example(record, vocabulary) for record in chosen], vectors


def test_a_word_of_code_is_found_by_another_word_of_the_query() -> None:
    words, examples, vectors = learnable(records(12))
    learned = fit_associations(words, vectors, examples, SETTINGS)
    code = "\n".join(
        ["area = 1", "shape = 2", "", "", "", "", "", "", "timeout = 4", "", "", "", "colour = 3"]
    )
    views = learned.of("Which deadline?", code, line_layout(code))
    assert (views.own + views.prior).argmax() == 8
    assert views.own[8] > views.own[[0, 1, 12]].max()
    nothing = learned.of("Which colour?", code, line_layout(code))
    assert views.own[8] - nothing.own[8] > 0


def test_what_is_served_is_what_was_trained() -> None:
    chosen = records(3)
    words, examples, vectors = learnable(chosen)
    torch.manual_seed(2)
    model = _Model(vectors)
    with torch.no_grad():
        for parameter in (model.views, model.block_prior, model.prior.weight):
            parameter.add_(torch.randn_like(parameter))
        model.prior.weight[0] = 0
        batch = _Batch.of(examples)
        trained = (model(batch) - model.known(batch.features)[:, 0]).numpy()
    served = model.associations(words)
    layouts = [line_layout(record.code) for record in chosen]
    views = [
        served.of(record.query, record.code, layout) for record, layout in zip(chosen, layouts, strict=True)
    ]
    together = np.concatenate([view.own + view.near + view.block + view.prior for view in views])
    np.testing.assert_allclose(together, trained, atol=1e-4)


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
