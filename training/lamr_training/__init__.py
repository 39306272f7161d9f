"""Training LaMR: corpora and rubric labels without a model, the objective, the loop.

Records, labels and corpora need no torch; everything else is imported when it is asked for.
"""

from lamr_evaluation.records import Record, read_records, write_records

from lamr_training.corpus.build import CorpusSettings, build_corpus
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
