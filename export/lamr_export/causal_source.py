"""A causal language model by what people have of it: a folder of transformers, a Hugging Face id, or a GGUF file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lamr_contract.names import TOKENIZER_FILE
from lamr_contract.perplexity.causal_scorer import causal_tokenizer
from tokenizers import Tokenizer

from lamr_export.causal_model import CausalModel
from lamr_export.checkpoint import tokenizer_path
from lamr_export.config import CHECKPOINT_CONFIG
from lamr_export.errors import CheckpointError
from lamr_export.gguf import SUFFIX, load_gguf
from lamr_export.sources import checkpoint_folder


@dataclass(frozen=True, eq=False)
class CausalSource:
    """One causal model, loaded.

    Attributes:
        name: what it is called where it comes from.
        model: in float32.
        tokenizer: its tokenizer.
        tokenizer_json: the content of its `tokenizer.json`.
        digest: of its weights, configuration and tokenizer.
    """

    name: str
    model: CausalModel
    tokenizer: Tokenizer
    tokenizer_json: bytes
    digest: str


def load_causal(
    what: str | Path, revision: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> CausalSource:
    """Load a causal model.

    Args:
        what: a GGUF file, or what `checkpoint_folder` finds a folder by.
        revision: of a Hugging Face id.
        progress: takes a line before each step.

    Raises:
        CheckpointError: there is no such model, or it isn't supported.
        ModelMismatchError: its tokenizer can't be read.
        MissingPackageError: a GGUF file needs a package that isn't installed.
    """
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
