"""`PartSpec`: what belongs to the two graphs of an encoder that reads query and code apart (`parts.json`).

Triton's processes read it, so it imports little."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

from lamr_base.errors import ModelMismatchError
from lamr_base.files import read_regular
from lamr_base.records import dataclass

from lamr_model.names import ONNX_FILE, PARTS_FILE

FORMAT = 1
_BLOCK = 1 << 20


@dataclass(frozen=True)
class PartSpec:
    """The file that the graphs take their weights from, and where a query ends."""

    model_sha256: str  # the digest of `model.onnx`, whose places the graphs name
    separator: int  # the token that ends a sequence's first part, the query's; the rest is the second

    def __post_init__(self) -> None:
        if not (isinstance(self.model_sha256, str) and isinstance(self.separator, int)):
            raise TypeError("model_sha256 is a text and separator a number")

    def save(self, folder: Path) -> None:
        """Write the file."""
        text = json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=2) + "\n"
        (folder / PARTS_FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> PartSpec | None:
        """Return what a folder with a `model.onnx` says of its parts; None where the encoder is one graph. Raises
        `ModelMismatchError`: the file is damaged, or `model.onnx` isn't the one that it was written for."""
        path = folder / PARTS_FILE
        try:
            data = json.loads(read_regular(path))
            if (number := data.pop("format")) != FORMAT:
                raise ValueError(f"format {number} instead of {FORMAT}")
            spec = cls(**data)
            digest = hashlib.sha256()
            with (folder / ONNX_FILE).open("rb") as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
        except FileNotFoundError:
            return None
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ModelMismatchError(
                f"{path} can't be used ({error}); write the repository again with `lamr export`", path=path
            ) from error
        if digest.hexdigest() != spec.model_sha256:
            raise ModelMismatchError(
                f"{folder / ONNX_FILE} is damaged, or isn't the file that {PARTS_FILE} beside it was written for; "
                "write the repository again with `lamr export`",
                path=folder / ONNX_FILE,
            )
        return spec
