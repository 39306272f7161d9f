"""Exported repositories of the tiny models. Each one is made once."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from lamr_export import export_repository, load_checkpoint, save_checkpoint, verify
from lamr_export.model import LamrModel
from lamr_export.repository_writer import ExportReport

from tests.traces import traced_once

from .models import BERTS, write_swepruner, write_tokenizer

TEXTS = [("w1 w2 where w3", "w5 w6 w1\nw2 ( w3 ) yes\n" * 12), ("w9", "w9 w8 w7\n" * 30)]
MODELS = ("swepruner", "bert", "bert-plain", "bert-narrow", "bert-apart")  # swepruner: a Qwen3 and one rubric


@dataclass(frozen=True)
class Exported:
    """A repository with its checkpoint, its model and what the export said."""

    checkpoint: Path
    root: Path
    model: LamrModel
    report: ExportReport
    lines: list[str]

    @property
    def onnx(self) -> Path:
        return self.root / "lamr_encoder" / "1" / "model.onnx"


def write_checkpoint(kind: str, folder: Path) -> Path:
    folder.mkdir()
    if kind == "swepruner":
        write_swepruner(folder)
        return folder
    save_checkpoint(BERTS[kind](), folder, write_tokenizer(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A function from a model's kind and a precision to an `Exported`."""
    made: dict[tuple[str, str], Exported] = {}

    def get(kind: str, precision: str = "fp32") -> Exported:
        if (kind, precision) not in made:
            folder = tmp_path_factory.mktemp(f"{kind}-{precision}")
            checkpoint = write_checkpoint(kind, folder / "checkpoint")
            lines: list[str] = []
            with traced_once(tmp_path_factory), pytest.MonkeyPatch.context() as patch:
                patch.setattr(verify, "LONGEST", 256)
                report = export_repository(
                    checkpoint, folder / "repository", precision, texts=TEXTS, progress=lines.append
                )
            model = load_checkpoint(checkpoint)
            made[kind, precision] = Exported(checkpoint, folder / "repository", model, report, lines)
        return made[kind, precision]

    return get
