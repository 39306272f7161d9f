"""Whether an exported encoder computes what the PyTorch model does, and what a difference means for decisions.

Both run on packed batches of random ids and of real text, and both are decoded by `lamr_model.crf` as on a server. The
caller decides whether a difference is acceptable, except for a wrong shape."""

import dataclasses
import importlib.util
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from lamr_model.crf import Decoder
from lamr_model.encoder.packed_batch import code_states, encoder_feed
from lamr_model.encoding import PromptEncoder
from lamr_model.model_io import ChunkRequest
from lamr_model.names import ENCODER_OUTPUTS
from numpy.typing import NDArray

from lamr_export.errors import ExportError
from lamr_export.model import LamrModel


class ExportedGraph:
    """A session on a file that was just written."""

    def __init__(self, file: Path, outputs: Sequence[str]) -> None:
        self._outputs = list(outputs)
        try:
            self._session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's exceptions share no base but this
            raise ExportError(f"onnxruntime {onnxruntime.__version__} can't load {file}: {error}") from error

    def __call__(self, feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        try:
            results: list[NDArray[Any]] = self._session.run(self._outputs, feed)
        except Exception as error:
            raise ExportError(f"the exported graph fails on a batch: {error}") from error
        return results


Array = NDArray[Any]
SampleText = tuple[str, str]  # query, code
Batch = Sequence[ChunkRequest]

# Most tokens of a random sequence, and of a sample text's chunk, so that the check of a window of 8,192 tokens doesn't
# take minutes.
LONGEST = 2048
BATCH = 8
CHUNKS_PER_TEXT = 8
_QUESTIONS = {  # about modules of the standard library, which every installation has
    "argparse": "How are errors in the arguments reported to the user?",
    "bdb": "Where is the condition of a breakpoint evaluated?",
    "csv": "How is the delimiter of a file guessed?",
    "difflib": "How is the longest matching block found?",
    "fractions": "How is the nearest fraction with a small denominator found?",
    "pathlib": "Why does resolving a path fail on a loop of links?",
    "plistlib": "How is a list in the binary format read?",
    "shutil": "Which permissions and times does a copied file keep?",
    "smtplib": "What happens when the server refuses to authenticate?",
    "tarfile": "Where are long names of members decoded?",
    "tempfile": "How is a name chosen that nobody else has?",
    "textwrap": "How is a paragraph split into lines of a given width?",
}
_CALIBRATION = {  # about other modules than those of the comparison
    "configparser": "Which errors are raised when a section or an option occurs twice?",
    "http.client": "How does a connection read the headers of a response?",
    "json.decoder": "Where are numbers and strings of a document parsed?",
    "logging.handlers": "When does a rotating file start over?",
    "subprocess": "What happens to the child when a timeout expires?",
    "zipfile": "How is the end of the central directory found?",
}


@dataclass(frozen=True)
class Verification:
    """How an exported encoder differs from the PyTorch model. Errors are largest absolute differences."""

    batches: int  # how many of them were compared
    tokens: int
    fused_error: float  # the error of the fused features
    fused_relative: float  # the root mean square of their difference, relative to that of the features
    relevance_error: float  # the error of the relevance, a probability
    packed_error: float
    heads_error: float
    decisions: int  # the number of code tokens of real text that were decoded
    kept_percent: float  # the share of them that PyTorch keeps
    changed_percent: float  # the share of them whose keep decision differs
    moved_percent: float
    keep_prob_error: float  # the largest difference of their keep probability
    keep_prob_mean_error: float  # the mean difference of their keep probability


def verify_encoder(
    model: LamrModel, onnx_file: Path, random: Sequence[Batch], text: Sequence[Batch]
) -> Verification:
    """Compare an exported encoder with its model on batches of samples."""
    graph = ExportedGraph(onnx_file, ENCODER_OUTPUTS)
    decoder = Decoder(model.decoder_weights())
    errors: list[tuple[float, ...]] = []
    squares = np.zeros(2)
    decisions: list[tuple[Array, Array]] = []
    for number, batch in enumerate((*random, *text)):
        real = number >= len(random)
        feed = feed_of(batch)
        with torch.no_grad():
            expected = [
                value.numpy() for value in model(*(torch.from_numpy(value) for value in feed.values()))
            ]
            emissions = model.heads(torch.from_numpy(expected[0])).emissions.numpy()
        fused, relevance = _run(graph, feed, expected)
        alone = fused if real else np.concatenate([graph(feed_of([chunk]))[0] for chunk in batch])
        pairs = (fused, expected[0]), (relevance, expected[1]), (fused, alone)
        heads = decoder.emissions(expected[0])[0], emissions
        errors.append(tuple(float(np.abs(a - b).max()) for a, b in (*pairs, heads)))
        squares += np.square(fused - expected[0]).sum(dtype=float), np.square(expected[0]).sum(dtype=float)
        if real:
            decisions.append(_decide(decoder, batch, expected[0], fused))
    worst = np.max(errors, axis=0)
    keep, keep_prob = (np.concatenate(parts, axis=1) for parts in zip(*decisions, strict=True))
    likelier = keep_prob >= np.quantile(keep_prob, 0.75, axis=1, keepdims=True)
    return Verification(
        batches=len(errors),
        tokens=sum(len(chunk.input_ids) for batch in (*random, *text) for chunk in batch),
        fused_error=float(worst[0]),
        fused_relative=float(np.sqrt(squares[0] / squares[1])),
        relevance_error=float(worst[1]),
        packed_error=float(worst[2]),
        heads_error=float(worst[3]),
        decisions=keep.shape[1],
        kept_percent=float(100 * np.mean(keep[0])),
        changed_percent=float(100 * np.mean(keep[0] != keep[1])),
        moved_percent=float(100 * np.mean(likelier[0] != likelier[1])),
        keep_prob_error=float(np.abs(keep_prob[0] - keep_prob[1]).max()),
        keep_prob_mean_error=float(np.abs(keep_prob[0] - keep_prob[1]).mean()),
    )


def feed_of(batch: Batch) -> dict[str, Array]:
    """The encoder's inputs for a batch, by name."""
    return encoder_feed([chunk.input_ids for chunk in batch])


def random_batches(model: LamrModel, seed: int = 0) -> list[list[ChunkRequest]]:
    """Random ids in ragged batches, with lengths from 1 to the window (at most `LONGEST`). Ids repeat, and the
    separator ends a query where the model has one, so that there are lexical matches."""
    generator = np.random.default_rng(seed)
    longest = min(model.config.chunking.window, LONGEST)
    few = max(2, longest // 4)
    lengths = [
        [1],
        [longest],
        [1, 2, *generator.integers(1, few, BATCH - 2)],
        [*generator.integers(1, few, 3), 1, few],
    ]
    vocabulary = generator.integers(0, model.backbone.config.vocab_size, 400)
    separator = model.config.lexical.separator_id if model.config.lexical else None

    def sample(length: int) -> ChunkRequest:
        ids = generator.choice(vocabulary, length)
        if separator is not None:
            ids[[length // 4, length - 1]] = separator
        return ChunkRequest(ids, (0, length))

    return [[sample(int(length)) for length in batch] for batch in lengths]


def text_batches(encoder: PromptEncoder, texts: Iterable[SampleText]) -> list[list[ChunkRequest]]:
    """Chunks of real files as batches, with the first `CHUNKS_PER_TEXT` of each file."""
    samples = [sample for query, code in texts for sample in _chunks(encoder, query, code)]
    return [samples[first : first + BATCH] for first in range(0, len(samples), BATCH)]


def standard_texts() -> list[SampleText]:
    """Questions about files of the standard library, for the comparison."""
    return _texts(_QUESTIONS)


def calibration_texts() -> list[SampleText]:
    """Questions about other files of the standard library, for the scales of activations."""
    return _texts(_CALIBRATION)


def _texts(questions: dict[str, str]) -> list[SampleText]:
    modules = [(question, importlib.util.find_spec(name)) for name, question in questions.items()]
    return [
        (question, Path(spec.origin).read_text(encoding="utf-8"))
        for question, spec in modules
        if spec and spec.origin and spec.origin.endswith(".py")
    ]


def _run(graph: ExportedGraph, feed: dict[str, Array], expected: Sequence[Array]) -> list[Array]:
    outputs = graph(feed)
    for name, values, reference in zip(ENCODER_OUTPUTS, outputs, expected, strict=True):
        # Triton's C++ backend doesn't check shapes: wrong rows would reach the wrong requests.
        if values.shape != reference.shape:
            raise ExportError(f"{name} has shape {list(values.shape)} instead of {list(reference.shape)}")
        if not np.isfinite(values).all():
            raise ExportError(f"{name} holds NaN or infinity")
    return outputs


def _decide(decoder: Decoder, batch: Batch, *features: Array) -> tuple[Array, Array]:
    """The decisions `[2, n]` and probabilities `[2, n]` of a batch's code tokens, from two arrays of features."""
    lengths, spans = [len(chunk.input_ids) for chunk in batch], [chunk.document_span for chunk in batch]
    decoded = [decoder.decode(*code_states(values, lengths, spans)) for values in features]
    return np.stack([one.keep for one in decoded]), np.stack([one.keep_prob for one in decoded])


def _chunks(encoder: PromptEncoder, query: str, code: str) -> Iterator[ChunkRequest]:
    ids, offsets = encoder.encode_document(code)
    own = encoder.spec.chunking
    chunking = dataclasses.replace(own, tokens=min(own.tokens, LONGEST))
    chunks = encoder.chunk(encoder.encode_query(query), ids, offsets, code, chunking)
    for chunk in itertools.islice(chunks, CHUNKS_PER_TEXT):
        yield ChunkRequest(chunk.input_ids, chunk.document_span)
