"""A pruner that isn't told what a session said before, to measure what that is worth."""

from __future__ import annotations

from typing import Any

from lamr_agents.judge import Prunes
from lamr_client import PruneResult


class Silent:
    """Asks another pruner without the history.

    Args:
        pruner: is asked.
    """

    def __init__(self, pruner: Prunes) -> None:
        self._pruner = pruner

    def prune(self, query: str, code: str, **options: Any) -> PruneResult:
        """As `Prunes.prune`, whatever history is given."""
        return self._pruner.prune(query, code, **{**options, "history": ""})
