"""Decoding for LaMR: emission heads, gate, and the linear-chain CRF, over packed batches, without torch."""

from lamr_decoding.chain import LinearChainCrf
from lamr_decoding.crf import marginals, viterbi
from lamr_decoding.decoder import Decoded, Decoder
from lamr_decoding.weights import DecoderWeights, DecoderWeightsError

__all__ = [
    "Decoded",
    "Decoder",
    "DecoderWeights",
    "DecoderWeightsError",
    "LinearChainCrf",
    "marginals",
    "viterbi",
]
