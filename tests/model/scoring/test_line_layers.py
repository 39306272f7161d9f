"""Layers over lines do what their definition says, line by line."""

from dataclasses import replace

import numpy as np
import pytest
from lamr_model.scoring.document_words import DocumentWords
from lamr_model.scoring.line_inputs import Positions
from lamr_model.scoring.line_layers import Relations
from lamr_model.words import TermIndex
from lamr_postprocess.layout import line_layout

from tests.model.scoring.line_models import random_layers

CODE = """\
import load_entry

class Cache:
    def load_entry(self):
        value = self

        return load_entry


x = 1
"""
INPUTS, WIDTH = 3, 4


def places(text: str) -> tuple[Positions, Relations]:
    layout = line_layout(text)
    words = DocumentWords.of(TermIndex.of(text, layout), layout)
    positions = Positions.of(words)
    return positions, Relations.of(positions, *(positions.place[lines] for lines in words.definitions))


@pytest.mark.parametrize("text", [CODE, "one = 1", "a = 1\n\n\nb = 2", CODE * 5])
def test_a_layer_is_that_of_the_definition(text: str) -> None:
    positions, relations = places(text)
    layers = random_layers(INPUTS, WIDTH, 2, (1, 3))
    count = len(positions)
    states = np.random.default_rng(1).normal(size=(count, WIDTH)).astype(np.float32)
    for layer in layers.layers:
        expected = np.repeat(layer.bias[None], count, axis=0)
        for line in range(count):
            for step in range(5):
                source = line + (step - 2) * layer.stride
                if 0 <= source < count:
                    block = states[positions.blocks == positions.blocks[source]].mean(axis=0)
                    expected[line] += states[source] @ layer.own[step] + block @ layer.block[step]
                    expected[line] += states.mean(axis=0) @ layer.file[step]
            for number in range(4):
                told = layer.told[:, number * WIDTH : (number + 1) * WIDTH]
                targets = np.repeat(
                    relations.targets[number],
                    np.diff(np.append(relations.starts[number], len(relations.sources[number]))),
                )
                sources = relations.sources[number][targets == line]
                if len(sources):
                    expected[line] += states[sources].mean(axis=0) @ told
        np.testing.assert_allclose(layer(states, positions, relations), expected, atol=1e-5)


def test_relations_are_of_headers_and_definitions() -> None:
    positions, relations = places(CODE)
    lines = positions.lines
    tell = []
    for source, target, start in zip(relations.sources, relations.targets, relations.starts, strict=True):
        targets = np.repeat(target, np.diff(np.append(start, len(source))))
        tell.append(set(zip(lines[source].tolist(), lines[targets].tolist(), strict=True)))
    assert (2, 3) in tell[0]
    assert (3, 2) in tell[1]
    assert tell[3] == {(used, by) for by, used in tell[2]}
    assert (3, 6) in tell[3], "the def tells the line that uses its name"


def test_states_have_what_stands_beside_them() -> None:
    positions, relations = places(CODE)
    layers = random_layers(INPUTS, WIDTH, 2, (1,))
    inputs = np.random.default_rng(2).normal(size=(len(positions), INPUTS)).astype(np.float32)
    plain = np.concatenate([*layers.states([inputs[:2], inputs[2:]], positions, relations)])
    assert plain.shape == (len(positions), WIDTH + 2)
    assert layers.width == WIDTH + 2


def test_shapes_that_dont_fit_are_refused() -> None:
    layers = random_layers(INPUTS, WIDTH, 2, (1,))
    with pytest.raises(ValueError, match="shape"):
        replace(layers, bias=np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="shape"):
        replace(layers, layers=(replace(layers.layers[0], told=np.zeros((4, 4), np.float32)),))
    with pytest.raises(ValueError, match="isn't finite"):
        replace(layers, last_bias=np.full(2, np.nan, np.float32))
