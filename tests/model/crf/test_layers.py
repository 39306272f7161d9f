"""Products in few rows at a time, GELU without scipy, softmax and sigmoid."""

import math

import numpy as np
import pytest
import torch
from lamr_model.crf.layers import gelu, product, sigmoid, softmax


@pytest.mark.parametrize(
    "shape", [(0, 64, 64), (1, 64, 64), (64, 64, 64), (200, 64, 64), (41, 300, 72), (9, 2000, 64)]
)
def test_products_are_those_of_matrices(shape: tuple[int, int, int]) -> None:
    rows, depth, width = shape
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(rows, depth)), rng.normal(size=(depth, width))
    for dtype in (np.float32, np.float64):
        given = values.astype(dtype), weights.astype(dtype)
        np.testing.assert_allclose(product(*given), values @ weights, atol=1e-3)
        assert product(*given).dtype == dtype
    turned = np.asfortranarray(values), np.asfortranarray(weights)
    np.testing.assert_allclose(product(*turned), values @ weights, atol=1e-9)


def test_gelu_is_exact_to_float32() -> None:
    x = np.concatenate([np.linspace(-30, 30, 100_001), np.geomspace(1e-30, 1e30, 301), [0.0]]).astype(
        np.float32
    )
    x = np.concatenate([x, -x])
    expected = np.array([float(v) * 0.5 * math.erfc(-float(v) * 0.5**0.5) for v in x])
    error = np.abs(gelu(x.copy()) - expected)
    assert (error <= np.maximum(1e-6, 1e-6 * np.abs(expected))).all()


def test_gelu_of_any_size_and_shape() -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (3, 5), (16_384,), (129, 256)):
        x = rng.normal(size=shape).astype(np.float32) * 4
        # In float64: PyTorch's float32 kernel itself is off by 1e-6 on some processors.
        expected = torch.nn.functional.gelu(torch.as_tensor(x).double()).numpy()
        found = gelu(x.copy())
        assert found.shape == shape
        np.testing.assert_allclose(found, expected, atol=1e-6, rtol=0)


def test_softmax_and_sigmoid_do_not_overflow() -> None:
    logits = np.array([[1e4, -1e4], [0.0, 0.0]], dtype=np.float32)
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(softmax(logits), [[1, 0], [0.5, 0.5]])
        np.testing.assert_allclose(sigmoid(logits), [[1, 0], [0.5, 0.5]])
