"""The few neural layers that the decoder needs."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

# Φ(x), the normal distribution function, is the logistic function of x·R(x²). These are R's coefficients, constant
# first: a minimax fit (reweighted least squares on a Chebyshev basis) of the error that x·Φ(x) makes for
# |x| <= 6; it is 7e-8 at most, below float32's own rounding. Further out x·R(x²) only grows, and Φ is 0 or 1.
_LOGIT_OF_NORMAL = (
    1.5957684337278615,
    0.07266856382217786,
    -6.625796835845561e-05,
    -0.0001104808511304604,
    7.938285082046597e-06,
    -2.668965820416825e-07,
    3.611311437091208e-09,
)
_BLOCK = 16_384  # float32 entries; with its scratch it stays in a core's second-level cache
# Between two scratch arrays: at a distance that 4 KiB divides, a core takes reads of one for reads of what it is just
# writing to the other and waits, and GELU takes 2.5 times as long.
_APART = 16
# OpenBLAS shares products of more multiplications than this among its threads, which then wait for one another at more
# cost than they save; and products of fewer rows are slow.
_MOST_MULTIPLICATIONS, _LEAST_ROWS = 1 << 18, 12


def product(values: Array, weights: Array) -> Array:
    """Values [T, D] times weights [D, H], [T, H]; small weights take few rows at a time, in one thread."""
    depth, width = weights.shape
    rows = _MOST_MULTIPLICATIONS // max(1, depth * width)
    if not _LEAST_ROWS <= rows < len(values):
        return values @ weights
    products = np.empty((len(values), width), np.result_type(values, weights))
    whole = len(values) // rows * rows
    parts = values[:whole].reshape(-1, rows, depth)
    np.matmul(parts, weights, out=products[:whole].reshape(-1, rows, width))
    np.matmul(values[whole:], weights, out=products[whole:])
    return products


def gelu(values: Array) -> Array:
    """x·Φ(x), the exact GELU (Hendrycks & Gimpel 2016), to 1e-6 in float32; any shape, in place."""
    flat = values.reshape(-1)
    squares, powers = np.empty((2, min(_BLOCK, flat.size) + _APART), dtype=flat.dtype)
    with np.errstate(
        over="ignore", under="ignore"
    ):  # exp(x) -> infinity makes x / (1 + exp) -> -0, as it should
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            _gelu_block(block, squares[: block.size], powers[: block.size])
    return flat.reshape(values.shape)


def _gelu_block(
    values: npt.NDArray[np.float32], squares: npt.NDArray[np.float32], sums: npt.NDArray[np.float32]
) -> None:
    np.multiply(values, values, out=squares)
    np.multiply(squares, -_LOGIT_OF_NORMAL[-1], out=sums)
    for coefficient in _LOGIT_OF_NORMAL[-2:0:-1]:
        np.subtract(sums, coefficient, out=sums)
        np.multiply(sums, squares, out=sums)
    np.subtract(sums, _LOGIT_OF_NORMAL[0], out=sums)
    np.multiply(sums, values, out=sums)
    np.exp(sums, out=sums)
    np.add(sums, 1, out=sums)
    np.divide(values, sums, out=values)


def softmax(logits: Array) -> Array:
    """Softmax over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def sigmoid(logits: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(logits))
    shares: Array = np.where(logits >= 0, 1, small) / (1 + small)
    return shares
