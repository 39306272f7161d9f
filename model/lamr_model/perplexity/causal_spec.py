"""`CausalSpec`: what a client must know about a served causal language model, and the form in which it gets it.

In a model repository it is the file `lamr.json` beside the tokenizer. The model's configuration carries both as well,
so that a client needs no file of the model, but its server's address."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import zlib
from pathlib import Path

from lamr_base.errors import ModelMismatchError
from lamr_base.files import MIB, read_regular
from lamr_base.records import dataclass

from lamr_model.names import PERPLEXITY, SPEC_FILE, version_folder
from lamr_model.spec import FORMAT, typed

MOST_SERVED_TOKENIZER_BYTES = 128 * MIB
"""Of what a server's configuration decompresses to."""


@dataclass(frozen=True)
class CausalSpec:
    """One causal language model, as a client sees it.

    Attributes:
        name: what people and logs call the model.
        version: names its weights: a digest of them.
        vocabulary: the number of token ids.
        max_tokens: the longest sequence that is served.
        tokenizer_sha256: the digest of its `tokenizer.json`.

    Raises:
        ValueError: a number is too small."""

    name: str
    version: str
    vocabulary: int
    max_tokens: int
    tokenizer_sha256: str

    def __post_init__(self) -> None:
        typed(self)
        if self.vocabulary < 1 or self.max_tokens < 1:
            raise ValueError(
                f"vocabulary and max_tokens must be at least 1, not {self.vocabulary} and {self.max_tokens}"
            )

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that change with the model, its tokenizer and the longest sequence."""
        parts = [str(value) for value in dataclasses.asdict(self).values()]
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the file's text; `from_json` reads it back equal."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = SPEC_FILE) -> CausalSpec:
        """Read a spec. `source`: the file or server that it comes from, for errors. Raises `ModelMismatchError`: the
        text isn't JSON, has another format number, or a field is missing, unknown or of another type."""
        try:
            data = json.loads(text)
            if (number := data.pop("format")) != FORMAT:
                raise ValueError(f"format {number} instead of {FORMAT}")
            return cls(**data)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ModelMismatchError(
                f"{source}: not a causal model's spec ({error}); export the model again", path=source
            ) from error


def causal_files(repository: Path) -> Path:
    """Return the folder of a causal model's repository that holds `lamr.json` and `tokenizer.json`."""
    return version_folder(repository, PERPLEXITY)


def load_causal_spec(repository: Path) -> CausalSpec:
    """Read `lamr_perplexity/1/lamr.json` of a model repository. Raises `ModelMismatchError`: the file is missing or
    unreadable as a spec."""
    path = causal_files(repository) / SPEC_FILE
    try:
        text = read_regular(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelMismatchError(
            f"{path} can't be read ({error}); export the model again", path=path
        ) from error
    return CausalSpec.from_json(text, str(path))


def to_parameter(tokenizer: bytes) -> str:
    """Return the content of a `tokenizer.json` as a parameter of a configuration: compressed, as Base64."""
    return base64.b64encode(zlib.compress(tokenizer, 9)).decode("ascii")


def from_parameter(text: str, spec: CausalSpec, source: str) -> bytes:
    """Return the content of the `tokenizer.json` that a configuration carries. `source`: the server or file that it
    comes from, for errors. Raises `ModelMismatchError`: it isn't the spec's tokenizer."""
    try:
        content = zlib.decompressobj().decompress(
            base64.b64decode(text, validate=True), MOST_SERVED_TOKENIZER_BYTES
        )
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ModelMismatchError(
            f"{source}: the tokenizer is damaged ({error}); export the model again"
        ) from error
    if hashlib.sha256(content).hexdigest() != spec.tokenizer_sha256:
        raise ModelMismatchError(
            f"{source}: the tokenizer isn't that of {spec.name} {spec.version}; export the model again"
        )
    return content
