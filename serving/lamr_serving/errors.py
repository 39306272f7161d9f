"""What can go wrong before a server runs and while it runs. Everything after that has an error of the client.

ModelRepositoryError (a ModelMismatchError)   a file of the repository is missing, broken or of another model
ServerStartError (a ServerError)              the server did not come up, or this machine can't run it
"""

from __future__ import annotations

from lamr_base.errors import ModelMismatchError, ServerError


class ModelRepositoryError(ModelMismatchError):
    """A model repository can't be served. The message names the file and the remedy."""


class ServerStartError(ServerError):
    """Triton did not start. The message carries the lines of its log that say why."""
