"""Decoding for LaMR: emission heads, gate, and the linear-chain CRF, over packed batches, without torch."""

from lamr_model.crf.chain import LinearChainCrf
from lamr_model.crf.crf import marginals, viterbi
from lamr_model.crf.decoder import Decoded, Decoder
from lamr_model.crf.weights import DecoderWeights, DecoderWeightsError

__all__ = [
    "Decoded",
    "Decoder",
    "DecoderWeights",
    "DecoderWeightsError",
    "LinearChainCrf",
    "marginals",
    "viterbi",
]
