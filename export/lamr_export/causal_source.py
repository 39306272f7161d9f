"""A causal language model by what people have of it: a folder of transformers, a Hugging Face id, or a GGUF file.

Of a GGUF file transformers makes a tokenizer, but most often cuts texts into words by GPT-2's rule; the file says by
which rule its model does."""

import contextlib
import hashlib
import io
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from lamr_base.errors import MissingPackageError, how_to_install
from lamr_model.names import TOKENIZER_FILE
from lamr_model.perplexity.causal_scorer import causal_tokenizer, tokenizer_of
from tokenizers import Regex, Tokenizer, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from lamr_export.causal_model import CausalModel
from lamr_export.checkpoint import checkpoint_folder, tokenizer_path
from lamr_export.config import CHECKPOINT_CONFIG
from lamr_export.errors import CheckpointError

MAGIC = b"GGUF"
SUFFIX = ".gguf"
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
_RULE = "tokenizer.ggml.pre"

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
_DIGITS_FIRST = (r"\p{N}", _GPT2)
_MARKS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = (rf"{_MARKS}|\p{{N}}{{1,3}}|{_REST}",)
_QWEN2 = (rf"{_MARKS}|\p{{N}}|{_REST}",)

WORDS = {
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "mellum", "default"), (_GPT2,)),
    **dict.fromkeys(
        ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"),
        _DIGITS_FIRST,
    ),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "lfm2", "smaug-bpe"), _LLAMA3),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez"), _QWEN2),
    "deepseek-coder": (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"),
}
"""The rules of byte-level tokenizers by the name that a file gives: expressions that cut words one after another."""


def load_gguf(file: Path) -> tuple[PreTrainedModel, Tokenizer]:
    _check(file)
    given: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    try:
        with contextlib.redirect_stderr(
            io.StringIO()
        ):  # its bar heeds neither --quiet nor a missing terminal
            tokenizer = AutoTokenizer.from_pretrained(file.parent, **given).backend_tokenizer
            model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **given)
    except Exception as error:  # a damaged file makes its readers fail in their own ways
        raise CheckpointError(
            f"{file}: transformers can't read this model ({str(error)[:300] or type(error).__name__}); download it "
            "again if it is damaged; llama.cpp's server reads more kinds"
        ) from error
    byte_level = isinstance(tokenizer.pre_tokenizer, pre_tokenizers.ByteLevel | pre_tokenizers.Sequence)
    if byte_level and (rules := WORDS.get(_word_rule(file))):
        cuts = [pre_tokenizers.Split(Regex(each), "isolated") for each in rules]
        level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*cuts, level])
    return model, tokenizer_of(tokenizer.to_str().encode(), str(file))


def _check(file: Path) -> None:
    if find_spec("gguf") is None:
        raise MissingPackageError(
            f"{file.name} needs the package gguf: {how_to_install('gguf')}", package="gguf"
        )
    try:
        with file.open("rb") as stream:
            first = stream.read(len(MAGIC))
    except OSError as error:
        raise CheckpointError(f"{file} can't be read ({error.strerror})") from error
    if first != MAGIC:
        raise CheckpointError(f"{file} is no GGUF file; download it again")
    if _PART.search(file.name):
        raise CheckpointError(
            f"{file} is one of several parts; join them with `llama-gguf-split --merge`, or serve them by llama.cpp"
        )


def _word_rule(file: Path) -> str:
    """Return the name of the rule by which a file's tokenizer cuts words; "" if it names none. The file has been read
    by transformers. Reading it again takes seconds where it holds a large vocabulary."""
    from gguf import GGUFReader  # noqa: PLC0415 - part of an extra

    field = GGUFReader(file).get_field(_RULE)
    return str(field.contents()) if field is not None else ""


@dataclass(frozen=True, eq=False)
class CausalSource:
    """One causal model, loaded."""

    name: str  # what it is called where it comes from
    model: CausalModel
    tokenizer: Tokenizer  # its tokenizer
    tokenizer_json: bytes  # the content of its `tokenizer.json`
    digest: str  # of its weights, configuration and tokenizer


def load_causal(
    what: str | Path, revision: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> CausalSource:
    path = Path(what)
    name = Path(os.path.abspath(what)).name  # noqa: PTH100  # an id or a link keeps its own name
    if path.suffix == SUFFIX:
        if not path.is_file():
            raise CheckpointError(f"there is no file {path}")
        progress(f"reading {path}, which takes up to some minutes")
        plain, tokenizer = load_gguf(path)
        content = tokenizer.to_str().encode()
        return CausalSource(path.stem, CausalModel(plain), tokenizer, content, _digest([path]))
    folder = checkpoint_folder(what, revision, progress)
    if not (folder / CHECKPOINT_CONFIG).is_file():
        raise CheckpointError(
            f"{folder} holds no causal model: neither {CHECKPOINT_CONFIG} nor a single {SUFFIX} file, nor what "
            "`lamr export --perplexity` writes"
        )
    progress(f"reading {folder}")
    file = tokenizer_path(folder)
    model = CausalModel.load(folder)
    return CausalSource(name, model, causal_tokenizer(file), file.read_bytes(), weights_digest(folder))


def weights_digest(folder: Path) -> str:
    """Return what names a model's weights: a digest of its configuration, its weights and its tokenizer."""
    return _digest(
        file
        for file in sorted(folder.iterdir())
        if file.suffix == ".safetensors" or file.name in ("config.json", TOKENIZER_FILE)
    )


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]
