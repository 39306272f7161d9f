"""Training LaMR: corpora and rubric labels without a model, the objective, the loop.

Records, labels and corpora need no torch. Every name is imported when it is first asked for, so that a command line can
read the defaults of settings without waiting for numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamr_evaluation.records import Record, read_records, write_records

    from lamr_training.corpus.build import build_corpus
    from lamr_training.corpus.settings import CorpusSettings
    from lamr_training.errors import CorpusError, RecordError, RunError, TrainingError
    from lamr_training.labels.rubrics import LabelSettings, RubricLabels, label_lines

__all__ = [
    "CorpusError",
    "CorpusSettings",
    "LabelSettings",
    "Record",
    "RecordError",
    "RubricLabels",
    "RunError",
    "TrainingError",
    "build_corpus",
    "label_lines",
    "read_records",
    "write_records",
]

_MODULES = {
    "CorpusError": "lamr_training.errors",
    "CorpusSettings": "lamr_training.corpus.settings",
    "LabelSettings": "lamr_training.labels.rubrics",
    "Record": "lamr_evaluation.records",
    "RecordError": "lamr_training.errors",
    "RubricLabels": "lamr_training.labels.rubrics",
    "RunError": "lamr_training.errors",
    "TrainingError": "lamr_training.errors",
    "build_corpus": "lamr_training.corpus.build",
    "label_lines": "lamr_training.labels.rubrics",
    "read_records": "lamr_evaluation.records",
    "write_records": "lamr_evaluation.records",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
