"""A pruner in process that keeps nothing of what its encoder read, so that every round of a timing reads it."""

from __future__ import annotations

from pathlib import Path

from lamr_client import InProcessTransport, Pruner
from lamr_contract.encoder.kept_states import KeptStates
from lamr_contract.spec import bundled_repository


def reading_anew(repository: Path | None = None, timeout: float = 3600) -> Pruner:
    """Load the model of a repository, by default the bundled one."""
    folder = repository or bundled_repository()
    transport = InProcessTransport(folder, kept=KeptStates(0))
    return Pruner(model=folder, transport=transport, timeout=timeout)
