"""The two errors of this component. The command line reports them like any other `LamrError`."""

from lamr_base.errors import LamrError


class CheckpointError(LamrError):
    """A checkpoint folder can't be read as a model. The message names the file or tensor and the remedy."""


class ExportError(LamrError):
    """A model repository can't be written, or what was written doesn't compute what the checkpoint does."""
