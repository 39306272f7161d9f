"""The weights of an int8 encoder, turned back, are those that it was made of but for rounding."""

import numpy as np
import onnx
import pytest
from lamr_export.errors import ExportError
from lamr_export.integer_graph import WEIGHT_LEVELS
from lamr_training.recipes.fine_tune import float_weights


@pytest.mark.parametrize("kind", ["bert-narrow", "bert-apart"])
def test_every_parameter_comes_back_within_a_step_of_its_rounding(exported, kind):
    made = exported(kind, "int8")
    back = float_weights(onnx.load(made.onnx))
    own = {name: value for name, value in made.model.state_dict().items() if not name.startswith("heads.")}
    unread = {"lexical.projection.weight"} if made.model.config.similarity else set()
    assert own.keys() - back.keys() == unread
    assert not back.keys() - own.keys()
    for name, values in back.items():
        expected = own[name].numpy()
        assert values.reshape(expected.shape).shape == values.shape or values.ndim == 0, name
        # Weights that share a column share its step, and rounding that cancels errors moves some by several steps.
        step = np.abs(expected).max() / WEIGHT_LEVELS
        assert np.abs(values - expected).mean() <= step, name


def test_a_float_encoder_has_nothing_to_turn_back(exported):
    with pytest.raises(ExportError, match="no int8 weights"):
        float_weights(onnx.load(exported("bert", "fp32").onnx))
