"""Bad input to the CRF: each case an error that names cause and remedy."""

from typing import Any

import numpy as np
import pytest
from lamr_model.crf import LinearChainCrf, marginals, viterbi

CRF = LinearChainCrf(np.zeros((2, 2)), np.zeros(2), np.zeros(2))
FUNCTIONS = [viterbi, marginals]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("cu_seqlens", "message"),
    [
        ([0, 2, 2, 4], "sequence 1 has 0 tokens"),
        ([0, 3, 2, 4], "sequence 1 has -1 tokens"),
        ([0, 3], "from 0 to the number of tokens, 4, not from 0 to 3"),
        ([1, 4], "not from 1 to 4"),
        ([0], "shape"),
        ([], "shape"),
        ([[0, 4]], "shape"),
        ([0.0, 4.0], "integers"),
        (np.array([0, 5]), "not from 0 to 5"),
    ],
)
def test_packing(function: Any, cu_seqlens: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(np.zeros((4, 2)), cu_seqlens, CRF)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_emissions_that_are_not_finite(function: Any, bad: float) -> None:
    emissions = np.zeros((6, 2), dtype=np.float32)
    emissions[4, 1] = bad
    with pytest.raises(ValueError, match=r"token 4 has 0.0 and (nan|-?inf)"):
        function(emissions, [0, 6], CRF)


@pytest.mark.parametrize(
    ("emissions", "message"),
    [
        *((np.zeros(shape), r"shape \[T, 2\]") for shape in ((4,), (4, 3), (4, 2, 1), (2, 4))),
        *(
            (np.zeros((4, 2)).astype(dtype), "must be real numbers")
            for dtype in (np.complex64, np.bool_, object, "U1")
        ),
        ([[0.0, 1.0]] * 4, "must be an array, not list"),
    ],
)
def test_emissions_of_another_kind(emissions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        viterbi(emissions, [0, 4], CRF)


@pytest.mark.parametrize("name", ["transitions", "start", "end"])
def test_crf_potentials(name: str) -> None:
    parts: dict[str, Any] = {"transitions": np.zeros((2, 2)), "start": np.zeros(2), "end": np.zeros(2)}
    wrong: list[tuple[Any, str]] = [(np.zeros(3), "have shape"), (None, "be an array")]
    for bad in (np.nan, np.inf, -1e9):
        values = parts[name].copy()
        values.reshape(-1)[1] = bad
        wrong.append((values, "be finite"))
    for values, message in wrong:
        with pytest.raises(ValueError, match=f"CRF {name} must {message}"):
            LinearChainCrf(**(parts | {name: values}))


def test_dtypes_of_results() -> None:
    narrow, wide = np.zeros((3, 2), dtype=np.float16), np.zeros((3, 2))
    assert viterbi(narrow, [0, 3], CRF).dtype == np.uint8
    assert marginals(narrow, np.array([0, 3], dtype=np.int32), CRF).dtype == np.float32
    assert marginals(wide, [0, 3], CRF).dtype == np.float64
