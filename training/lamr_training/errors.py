"""What can go wrong in training that a user can mend. Each message names the cause and the remedy."""

from lamr_base.errors import LamrError
from lamr_evaluation.errors import RecordError

__all__ = ["CorpusError", "RecordError", "RunError", "TrainingError"]


class TrainingError(LamrError):
    """Base of the errors below."""


class CorpusError(TrainingError):
    """A package or repository can't be read, may not be used, or isn't what the manifest says."""


class RunError(TrainingError):
    """A training run can't start or go on: no data, no backbone, a checkpoint of another run."""
