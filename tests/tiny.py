"""Small real tokenizers and specs for the client's tests; no model weights."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from lamr_model.crf import DecoderWeights
from lamr_model.names import SCORING_FILE, SPEC_FILE, TOKENIZER_FILE
from lamr_model.rules import LineRule, Scoring
from lamr_model.scoring.fusion import ENCODER_OUTPUTS, LINES, ScoreFusion
from lamr_model.scoring.fusion import FEATURES as READER_FEATURES
from lamr_model.scoring.line_inputs import IN_FILE
from lamr_model.scoring.line_layers import LineLayers
from lamr_model.scoring.line_model import INPUTS, LineModel, input_count
from lamr_model.scoring.line_vectors import WordMatching
from lamr_model.scoring.query_words import FEATURES
from lamr_model.scoring.weights import LineWeights, weights_bytes, word_table
from lamr_model.spec import Chunking, ModelSpec, PromptTemplate, client_files
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

IN_FULL: dict[str, Any] = {"effort": "full", "degrade": False}
"""For tests of what the encoder and its server do, so that nothing else answers in their place."""
CORPUS = [
    "def area(width, height):\n    return width * height\n\n\nclass Shape:\n    def __init__(self, name):\n",
    "import os\r\nfor item in items:\r\n\tprint(item, len(items))\r\n\r\nwhich function computes the area?",
    "<|im_start|> system user [SEP] [CLS] yes no 0 1 2 3 4 5 6 7 8 9 {} () [] ; : , . = + - * / \" ' # \\",
]
# The pre-tokenizer of Qwen's tokenizers: line ends join the blanks around them.
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def wordpiece() -> Tokenizer:
    """Uncased, drops white space, as BERT's; truncates and pads by default, as sentence models' files do.

    Its entries are the corpus's words and characters. (A trainer breaks ties by chance, so ids would change from run
    to run, and with them what `answer` says.)"""
    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words = {word for text in CORPUS for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))}
    marks = sorted({mark for word in words for mark in word})
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *marks, *(f"##{mark}" for mark in marks)]
    entries += sorted(word for word in words if len(word) > 1)
    vocabulary = {entry: number for number, entry in enumerate(entries)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    return tokenizer


def byte_bpe() -> Tokenizer:
    """Byte-level BPE with Qwen's splits, special tokens and an added token that isn't special."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([*CORPUS, "\n\n\n", "\r\n\r\n", "        ", "\n\n    \n"] * 3, trainer)
    tokenizer.add_tokens([AddedToken("<think>", special=False, normalized=False)])
    return tokenizer


def indenting() -> Tokenizer:
    """WordPiece with tokens of its own for line ends with their indentation and for common marks."""
    tokenizer = wordpiece()
    joined = ["\n" + " " * n for n in (0, 4, 8)] + ["\r\n    ", "):", "->"]
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in joined])
    return tokenizer


BERT_PROMPT = PromptTemplate("[CLS]", "[SEP]", "[SEP]")
QWEN_PROMPT = PromptTemplate("<|im_start|>user\n<Query>: ", "\n<Document>: ", "<|im_end|>\n<think>\n")


def make_spec(
    tokenizer: Tokenizer, prompt: PromptTemplate, *, window=96, tokens=64, overlap=16, **fields
) -> ModelSpec:
    return ModelSpec(
        name="tiny",
        version="1",
        prompt=prompt,
        chunking=Chunking(window, tokens, overlap),
        rubrics=fields.pop("rubrics", ("semantic", "dependency")),
        tokenizer_sha256=hashlib.sha256(tokenizer.to_str().encode()).hexdigest(),
        scoring=fields.pop("scoring", Scoring()),
        **fields,
    )


def lines_scoring(**rule) -> Scoring:
    """A scoring of lines that treats all queries alike."""
    return Scoring("lines", LineRule(**rule), LineRule(**rule))


_BASE, _CONSTANT = 1000.0, 40.0  # so large that the LayerNorm and the GELU of the heads do nothing to a sum


def line_weights(words: tuple[str, ...] = ("area", "shape"), **weights: float) -> LineWeights:
    """A line model and a reader whose log-odds of a line are weighted sums: of inputs, and of what the encoder says.

    The reader adds the line model's log-odds to its own."""
    encoder = {name: weights.pop(name) for name in ENCODER_OUTPUTS if name in weights}
    count = len(READER_FEATURES)
    last = np.zeros(1 + count)
    for name, weight in {**encoder, LINES: 1.0}.items():
        last[1 + READER_FEATURES.index(name)] = weight
    parts = (np.zeros((count, 1)), np.zeros(1), np.zeros((9, 1)), np.zeros(1), last)
    return LineWeights(line_model(words, **weights), ScoreFusion.of(1, (1,), parts))


def line_model(words: tuple[str, ...] = ("area", "shape"), **weights: float) -> LineModel:
    """A line model whose log-odds of a line are a weighted sum of its inputs that aren't of vectors."""
    count = input_count(1)
    first = np.zeros((count, 2), np.float32)
    for name, weight in weights.items():
        first[count - len(INPUTS) + INPUTS.index(name)] = weight, -weight

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.float32)

    nothing = word_table(zeros(len(words), 1), zeros(len(words)))
    spread = _BASE / np.sqrt(2)
    return LineModel(
        words,
        nothing,
        nothing,
        WordMatching(
            *(zeros(len(FEATURES) + len(IN_FILE), 1), zeros(1), zeros(1, 3), zeros(3)),
            *(zeros(3, 1, 1), zeros(1, 1), zeros(1)),
        ),
        LineLayers(first, zeros(2), (), zeros(count + 2, 2), np.array([_BASE, -_BASE], np.float32)),
        DecoderWeights(
            norm_weight=zeros(4) + 1,
            norm_bias=zeros(4),
            hidden_weight=np.array([[spread, -spread, 0, 0]], np.float32),
            hidden_bias=zeros(1) + _CONSTANT,
            emission_weight=np.array([[0], [1], [0], [0]], np.float32),
            emission_bias=np.array([0, -_CONSTANT, 0, 0], np.float32),
            gate_weight=zeros(2, 4),
            gate_bias=np.array([30, -30], np.float32),
            rubric_crf_transitions=zeros(2, 2, 2),
            rubric_crf_start=zeros(2, 2),
            rubric_crf_end=zeros(2, 2),
            fused_crf_transitions=zeros(2, 2),
            fused_crf_start=zeros(2),
            fused_crf_end=zeros(2),
        ),
    )


def write_client_files(
    repository: Path, spec: ModelSpec, tokenizer: Tokenizer, weights: LineWeights | None = None
) -> Path:
    """A model repository as far as a client reads it."""
    folder = client_files(repository)
    folder.mkdir(parents=True)
    (folder / SPEC_FILE).write_text(spec.to_json(), encoding="utf-8")
    (folder / TOKENIZER_FILE).write_text(tokenizer.to_str(), encoding="utf-8")
    if weights is not None:
        (folder / SCORING_FILE).write_bytes(weights_bytes(weights))
    return repository


def program(functions: int, end: str = "\n") -> str:
    """Python of 5 lines a function."""
    body = [
        "def area{0}(width, height):",
        "    name = width * {0}",
        "    if name:",
        "        return name",
        "",
    ]
    return end.join(line.format(i) for i in range(functions) for line in body)
