"""A bias brings Viterbi's path to the share of tokens that it should keep."""

import numpy as np
import pytest
from lamr_model.crf import LinearChainCrf
from lamr_training.fits.scoring import WIDEST, Margins, bisect, fit_keep_bias


@pytest.mark.parametrize("share", [0.1, 0.25, 0.6])
def test_the_paths_keep_the_share_that_is_asked_for(share: float) -> None:
    random = np.random.default_rng(0)
    crf = LinearChainCrf(np.array([[0.8, -0.8], [-0.6, 0.9]]), np.zeros(2), np.zeros(2))
    files = [
        Margins(random.normal(-9, 2, 600).astype(np.float32), np.array([0, 150, 400, 600])) for _ in range(5)
    ]
    assert np.mean([file.kept(crf, 0.0) for file in files]) == 0
    bias = fit_keep_bias(files, crf, share)
    kept = np.mean([file.kept(crf, bias) for file in files])
    assert kept == pytest.approx(share, abs=0.03)
    tokens = np.diff(files[0].bounds)
    assert tokens.sum() == len(files[0].values)


def test_a_share_that_no_bias_reaches_ends_at_the_bound() -> None:
    assert bisect(lambda bias: 0.0, 0.5) == pytest.approx(WIDEST, abs=0.01)
