"""From the encoder's fused states to decisions: heads, gate, and CRFs over a packed batch.

LayerNorm → Linear → GELU → Linear give each rubric's emissions, a softmax gate mixes them, and the fused CRF decides
(LaMR paper, section 3.2)."""

import numpy as np
import numpy.typing as npt
from lamr_base.records import dataclass

from lamr_model.crf import crf
from lamr_model.crf.chain import Chain, Packing
from lamr_model.crf.layers import Array, gelu, product, softmax
from lamr_model.crf.weights import DecoderWeights

_EPSILON = 1e-5  # of the LayerNorm


@dataclass(frozen=True)
class Decoded:
    """What is known of each token of a packed batch.

    Attributes:
        keep: uint8 [T], Viterbi's labels under the fused CRF.
        keep_prob: float32 [T], marginal probability of keep under the fused CRF.
        margin: float32 [T], fused emission of keep minus that of prune.
        rubric_prob: float32 [T, K], each rubric's own CRF marginal; None unless asked for.
        gate: float32 [T, K], each rubric's weight; None unless asked for."""

    keep: Array
    keep_prob: Array
    margin: Array
    rubric_prob: Array | None
    gate: Array | None


class Decoder:
    """Decodes fused states with given weights."""

    def __init__(self, weights: DecoderWeights) -> None:
        self.weights = weights
        # The LayerNorm is folded into the product that follows it: its scale into the weights, its mean by centring
        # them (Σ_d (x_d - μ) w_d = Σ_d x_d (w_d - mean w)). The gate and the mean ride along in the same product.
        scaled = weights.hidden_weight * weights.norm_weight
        centred = scaled - scaled.mean(axis=1, keepdims=True)
        mean = np.ones_like(weights.norm_weight)[None, :] / weights.fused_size
        self._inward = np.concatenate([centred, mean, weights.gate_weight]).T
        self._hidden_bias = weights.hidden_bias + weights.hidden_weight @ weights.norm_bias
        self._fused_crf = weights.fused_crf
        self._rubric_crfs = weights.rubric_crfs

    def decode(self, fused: Array, cu_seqlens: npt.ArrayLike, want_rubrics: bool = False) -> Decoded:
        """Decide for each token.

        Args:
            fused: [T, D], float; the encoder's fused states of B sequences, packed.
            cu_seqlens: integers [B+1], from 0 to T, strictly increasing.
            want_rubrics: also compute `rubric_prob` and `gate`.

        Raises:
            ValueError: shapes that don't fit, an empty sequence, states that aren't finite."""
        emissions, gate = self.emissions(fused)
        packing = Packing.of(cu_seqlens, int(emissions.shape[0]))
        mixed = _mixed(emissions, gate)
        chain = Chain.of(mixed, packing, self._fused_crf)
        chains = [chain, *(self._rubric_chains(emissions, packing) if want_rubrics else ())]
        keep_prob, *rubrics = crf.keep_probabilities(chains).astype(np.float32)
        return Decoded(
            keep=crf.best_labels(chain),
            keep_prob=keep_prob,
            margin=mixed[:, 1] - mixed[:, 0],
            rubric_prob=np.stack(rubrics, axis=1) if want_rubrics else None,
            gate=gate if want_rubrics else None,
        )

    def marginals(self, emissions: Array, gate: Array) -> tuple[Array, Array]:
        """Return `Decoded.keep_prob` [T] and `Decoded.rubric_prob` [T, K] of one sequence, without Viterbi's labels.

        Args:
            emissions, gate: what `emissions` returned of all its tokens.

        Raises:
            ValueError: an empty sequence, emissions that aren't finite."""
        count = int(emissions.shape[0])
        packing = Packing.of([0, count], count)
        fused = Chain.of(_mixed(emissions, gate), packing, self._fused_crf)
        chains = [fused, *self._rubric_chains(emissions, packing)]
        keep, *rubrics = crf.keep_probabilities(chains).astype(np.float32)
        return keep, np.stack(rubrics, axis=1)

    def emissions(self, fused: Array) -> tuple[Array, Array]:
        """Each rubric's emissions [T, K, 2] and the gate [T, K], float32, from `fused` [T, D]. Raises `ValueError`:
        `fused` has another shape."""
        D, K = self.weights.fused_size, self.weights.rubrics
        if fused.ndim != 2 or fused.shape[1] != D:
            raise ValueError(
                f"fused must have shape [T, {D}], not {list(fused.shape)}: "
                "the encoder and decoder.npz are of different models"
            )
        fused = fused.astype(np.float32, copy=False)
        with np.errstate(invalid="ignore", over="ignore"):  # `Chain.of` names the token that isn't finite
            inward = product(fused, self._inward)
            hidden = self._hidden(fused, inward)
            emissions = product(hidden, self.weights.emission_weight.T) + self.weights.emission_bias
            gate = softmax(inward[:, -K:] + self.weights.gate_bias)
        return emissions.reshape(-1, K, 2), gate

    def _rubric_chains(self, emissions: Array, packing: Packing) -> list[Chain]:
        return [Chain.of(emissions[:, k, :], packing, crf) for k, crf in enumerate(self._rubric_crfs)]

    def _hidden(self, fused: Array, inward: Array) -> Array:
        """Hidden states of the heads, [T, H]."""
        D, H = self.weights.fused_size, self._hidden_bias.shape[0]
        hidden, mean = inward[:, :H], inward[:, H : H + 1]
        variance = np.einsum("td,td->t", fused, fused)[:, None] / D - mean * mean
        # States that a LayerNorm left lie around zero; rows that don't would lose digits to cancellation.
        far = (mean * mean > 0.25 * variance)[:, 0]
        if far.any():
            centred = fused[far] - mean[far]
            hidden[far] = centred @ self._inward[:, :H]
            variance[far] = np.einsum("td,td->t", centred, centred)[:, None] / D
        hidden = hidden * (variance + _EPSILON) ** -0.5
        hidden += self._hidden_bias
        return gelu(hidden)


def _mixed(emissions: Array, gate: Array) -> Array:
    """The fused emissions, [T, 2]."""
    mixed: Array = (emissions * gate[:, :, None]).sum(axis=1)
    return mixed
