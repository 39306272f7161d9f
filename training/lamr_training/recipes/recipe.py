"""What every recipe has: three stages from records to a checkpoint folder, each of which leaves files for the next.

A stage that finds its files in the work folder goes on from them, so the same calls take up a run that was broken off.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from lamr_training.fits.scored_files import ScoringReport
from lamr_training.loop.settings import TrainingSettings
from lamr_training.loop.work_folder import WorkFolder


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """How a preset is trained."""

    settings: TrainingSettings  # the settings of training
    base: Path | None = None  # the folder of the backbone, for recipes that don't bring their own
    workers: int = 1  # how many processes the recipe is to start for training

    @property
    def runs(self) -> int:
        """How many runs follow each other."""
        return 1

    @abstractmethod
    def check(self) -> None:
        """Refuse what can't work, before anything is computed.

        Raises:
            RunError: the backbone is missing, or the recipe doesn't train with processes that are started this way.
        """

    @abstractmethod
    def prepare(self, data: Path, work: WorkFolder) -> None:
        """Write the start checkpoint and the examples, as far as they are missing."""

    @abstractmethod
    def fit(self, work: WorkFolder) -> None:
        """Train on what `prepare` wrote, going on from the last checkpoint.

        Raises:
            RunError: training can't start or go on.
        """

    @abstractmethod
    def finish(self, data: Path, work: WorkFolder, out: Path) -> ScoringReport | None:
        """Write the trained model's checkpoint folder.

        Returns:
            How the scoring does that was fitted on validation files; None if the recipe fits none.
        """
