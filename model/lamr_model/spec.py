"""`ModelSpec`: what a client must know about a model, which is its prompt, window, chunking and scoring.

In a model repository it is the file `lamr.json` beside the tokenizer. Training, export and client read prompts and
windows from here, so a model is served with what it was trained with."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import math
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from lamr_base.errors import ModelMismatchError
from lamr_base.files import read_regular
from lamr_base.records import dataclass

from lamr_model.names import ENSEMBLE, SPEC_FILE, version_folder
from lamr_model.rules import Scoring

FORMAT = 2
_Record = TypeVar("_Record", bound=Any)


@dataclass(frozen=True)
class PromptTemplate:
    """The text around a query and its code: `before` + query + `between` + code + `after`.

    Special tokens are recognized in these three strings and nowhere else; in a query or a file, `[SEP]` or `<|im_end|>`
    is ordinary text.

    Attributes:
        before, between, after: tokenized each by itself.
        query_before, query_after: ordinary text that is tokenized together with the query between them, for models
            that were trained so: a question mark and the newline after it may be one token."""

    before: str
    between: str
    after: str
    query_before: str = ""
    query_after: str = ""


@dataclass(frozen=True)
class Chunking:
    """How a document's tokens are cut into requests.

    Attributes:
        window: the most tokens of one request, prompt included.
        tokens: the code tokens that a chunk aims for; it never has more than the window leaves room for.
        overlap: about how many code tokens two neighbouring chunks share.
        headers: the most tokens of the lines around a chunk (its class, its function) that go before it, as far as the
            window has room. They are context and get no score there.
        cut: where a chunk ends: `lines` where a function does, or at another good line; `tokens` after as many tokens
            as fit, wherever that is, and then `overlap` is exact.

    Raises:
        ValueError: a number is too small, or a chunk larger than the window."""

    window: int
    tokens: int
    overlap: int
    headers: int = 0
    cut: str = "lines"

    def __post_init__(self) -> None:
        if self.cut not in ("lines", "tokens"):
            raise ValueError(f"chunks are cut at lines or tokens, not {self.cut!r}")
        if not (1 <= self.tokens <= self.window and self.overlap >= 0 and self.headers >= 0):
            raise ValueError(
                f"chunking needs 1 <= tokens <= window, overlap >= 0 and headers >= 0, not tokens={self.tokens}, "
                f"window={self.window}, overlap={self.overlap}, headers={self.headers}"
            )


@dataclass(frozen=True)
class ModelSpec:
    """One model, as a client sees it.

    Attributes:
        name, version: what people and logs call the model.
        prompt, chunking, scoring: see their classes.
        rubrics: the rubrics' names, in the order of the decoder's K axis.
        threshold: the least score of a kept line, unless a caller says otherwise.
        tokenizer_sha256: the digest of the `tokenizer.json` beside the file. It is a part of the `fingerprint` that a
            server's model must carry.
        weights_sha256: a digest of the trained weights, which is a part of the fingerprint, too; None for a model that
            was exported without one.

    Raises:
        ValueError: the threshold lies outside [0, 1]."""

    name: str
    version: str
    prompt: PromptTemplate
    chunking: Chunking
    rubrics: tuple[str, ...]
    tokenizer_sha256: str
    scoring: Scoring = field(default_factory=Scoring)
    threshold: float = 0.4
    weights_sha256: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"the threshold must be from 0 to 1, not {self.threshold}")

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that change with anything that changes what token ids or probabilities mean."""
        prompt = self.prompt
        parts = [
            self.name,
            self.version,
            self.tokenizer_sha256,
            prompt.before,
            prompt.between,
            prompt.after,
            *self.rubrics,
        ]
        if prompt.query_before or prompt.query_after:
            parts += [prompt.query_before, prompt.query_after]
        if self.scoring.unchained:
            parts.append(self.scoring.kind)
        if self.weights_sha256 is not None:
            parts.append(self.weights_sha256)
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the file's text; `from_json` reads it back equal."""
        fields = {**dataclasses.asdict(self), "scoring": self.scoring.to_dict()}
        if self.weights_sha256 is None:
            del fields["weights_sha256"]
        return json.dumps({"format": FORMAT, **fields}, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = SPEC_FILE) -> ModelSpec:
        """Read a spec.

        Args:
            text: the file's text.
            source: the file's name, for errors.

        Raises:
            ModelMismatchError: the text isn't JSON, has another format number, or a field is missing, unknown or of
                another type."""
        try:
            data: dict[str, Any] = json.loads(text)
            number = data.pop("format")
            if number != FORMAT:
                raise ModelMismatchError(
                    f"{source}: format {number}, but this lamr reads format {FORMAT}; export the model again",
                    path=source,
                )
            return typed(
                cls(
                    prompt=PromptTemplate(**data.pop("prompt")),
                    chunking=Chunking(**data.pop("chunking")),
                    scoring=Scoring.from_dict(data.pop("scoring")),
                    rubrics=tuple(data.pop("rubrics")),
                    **data,
                )
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ModelMismatchError(
                f"{source}: not a model spec ({error}); export the model again", path=source
            ) from error


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_record(value: object) -> bool:
    return dataclasses.is_dataclass(value) and typed(value) is value


# Whether a value that was read from JSON fits a field, by the field's annotation without `| None`.
_IS_OF_TYPE: dict[str, Callable[[Any], bool]] = {
    "str": _is_text,
    "int": _is_integer,
    "float": _is_number,
    "tuple[str, ...]": lambda value: all(map(_is_text, value)),
    "tuple[int, ...]": lambda value: all(map(_is_integer, value)),
    "tuple[float, float]": lambda value: all(map(_is_number, value)),
    "dict[str, float]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    **dict.fromkeys(("PromptTemplate", "Chunking", "Scoring", "LineRule", "AnswerPrior"), _is_record),
}


def typed(record: _Record) -> _Record:
    """Return a record after checking that each field is of its type, and each number finite. Raises `ValueError`: a
    field isn't. Raises `KeyError`: a field has a type that the table above doesn't list; that is a mistake of the
    class."""
    for each in dataclasses.fields(record):
        value, (kind, optional, _) = getattr(record, each.name), str(each.type).partition(" | None")
        if not ((optional and value is None) or _IS_OF_TYPE[kind](value)):
            raise ValueError(f"{each.name} must be {each.type}, not {value!r:.80}")
    return record


def load_spec(repository: Path) -> ModelSpec:
    """Read `lamr/1/lamr.json` of a model repository. Raises `ModelMismatchError`: the file is missing or unreadable
    as a spec."""
    path = client_files(repository) / SPEC_FILE
    try:
        text = read_regular(path).decode("utf-8")
    except FileNotFoundError as error:
        raise ModelMismatchError(
            f"{path} is missing: {repository} isn't a model repository written by `lamr export`", path=path
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ModelMismatchError(
            f"{path} can't be read ({error}); export the model again", path=path
        ) from error
    return ModelSpec.from_json(text, str(path))


def client_files(repository: Path) -> Path:
    """Return the folder of a model repository that holds `lamr.json` and `tokenizer.json`."""
    return version_folder(repository, ENSEMBLE)


def bundled_repository() -> Path:
    """Return the model repository that ships with this distribution (the package `lamr_model_repository`). Raises
    `ModelMismatchError`: the distribution was installed without it."""
    package = importlib.util.find_spec("lamr_model_repository")
    places = list(package.submodule_search_locations or []) if package else []
    if not places:
        raise ModelMismatchError(
            "the bundled model is not installed; reinstall lamr-server or name a repository"
        )
    return Path(places[0])
