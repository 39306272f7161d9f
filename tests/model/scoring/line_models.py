"""Line models with random weights."""

import numpy as np
from lamr_model.crf import DecoderWeights
from lamr_model.query_truncation import Query
from lamr_model.scoring.line_inputs import IN_FILE
from lamr_model.scoring.line_layers import RELATIONS, Layer, LineLayers
from lamr_model.scoring.line_model import LineModel, QueryLines, input_count
from lamr_model.scoring.line_vectors import WordMatching
from lamr_model.scoring.query_words import FEATURES
from lamr_model.scoring.weights import word_table
from lamr_postprocess import SourceFile

WORDS = ("cache", "load", "save", "key", "timeout", "deadlin")


def random_layers(
    inputs: int, width: int, beside: int, strides: tuple[int, ...], seed: int = 0
) -> LineLayers:
    """Layers of a reach of 2."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return rng.normal(scale=0.3, size=shape).astype(np.float32)

    layers = tuple(
        Layer(
            stride,
            *(weights(5, width, width) for _ in range(3)),
            weights(width, RELATIONS * width),
            weights(width),
        )
        for stride in strides
    )
    first, last = weights(inputs, width), weights(width + inputs, beside)
    return LineLayers(first, weights(width), layers, last, weights(beside))


def random_model(seed: int = 0, d: int = 3, width: int = 4, beside: int = 2) -> LineModel:
    """A model of a few words; its states and vectors are small."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return rng.normal(scale=0.3, size=shape).astype(np.float32)

    features, fused = len(FEATURES) + len(IN_FILE), width + beside
    return LineModel(
        WORDS,
        *(word_table(weights(len(WORDS), d), weights(len(WORDS))) for _ in range(2)),
        WordMatching(
            *(weights(features, 5), weights(5), weights(5, 3), weights(3)),
            *(weights(3, d, d), weights(d, d), weights(d)),
        ),
        random_layers(input_count(d), width, beside, (1, 3), seed),
        DecoderWeights(
            *(1 + weights(fused), weights(fused), weights(6, fused), weights(6)),
            *(weights(4, 6), weights(4), weights(2, fused), weights(2)),
            *(weights(2, 2, 2), weights(2, 2), weights(2, 2), weights(2, 2), weights(2), weights(2)),
        ),
    )


def ask(model: LineModel, query: str, text: str, path: str = "", task: str = "") -> QueryLines:
    """A query and a text whose lines nobody named."""
    source = SourceFile(text, path)
    return model.ask([Query(query, task)], source, np.zeros(len(source.spans)))[0]
