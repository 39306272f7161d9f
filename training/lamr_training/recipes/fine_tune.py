"""Trains a mini model on: from a served repository or a checkpoint, on the records of a folder.

The start is the shipped model unless another one is named. The result has a bias that lets Viterbi's path decide, and a
scoring that is fitted on whole files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from lamr_contract.names import TOKENIZER_FILE
from lamr_contract.spec import bundled_repository, client_files
from lamr_evaluation.records import read_records
from lamr_export.checkpoint import load_checkpoint
from lamr_export.config import CHECKPOINT_CONFIG
from lamr_export.model import LamrModel
from tokenizers import Tokenizer

from lamr_training.errors import RunError
from lamr_training.fits.scored_checkpoint import mean_weights, write_scored
from lamr_training.fits.scored_files import ScoringReport
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.examples import HARD_CHOICE, make_examples
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.model.served import load_served
from lamr_training.recipes.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class FineTuneRecipe(Recipe):
    """A mini model that learns from more records: the mean of runs that all begin at the start."""

    count: int = 1  # how many runs there are; each has its own order, and its own choice of hard chunks
    kept: int = 0  # how often the start's own weights count in the mean
    checked: int = 50
    scored: int = 120  # how many validation records the bias and the scoring are fitted on, whole files each

    @property
    def runs(self) -> int:
        """So many as `count` says."""
        return self.count

    def check(self) -> None:
        """Refuse a start that is neither a repository nor a checkpoint, and several processes."""
        if self.workers > 1:
            raise RunError("this preset trains in one process; leave --workers out")
        self._start()

    def prepare(self, data: Path, work: WorkFolder) -> None:
        """Write the start checkpoint, the examples and the checks, if any of them is missing."""
        if work.is_prepared(self.runs):
            return
        work.write_start(*self._start(), beside=self._tokenizer_file())
        model, encoder = work.load_start()
        if model.lexical is None:
            raise RunError(
                f"{self.base}: has no lexical features, so hard chunks can't be chosen; see `lamr-mini`"
            )
        rarity = model.lexical.rarity.numpy()
        records = list(read_records(data / "train.jsonl"))
        for run in range(self.runs):
            examples = make_examples(records, encoder, rarity, choice=HARD_CHOICE, seed=run)
            ExampleSet.of(list(examples)).save(work.examples(run))
        checks = islice(read_records(data / "validation.jsonl"), self.checked)
        ExampleSet.of(list(make_examples(checks, encoder, rarity, seed=1))).save(work.checks)

    def fit(self, work: WorkFolder) -> None:
        """Train each run from the start."""
        for run in range(self.runs):
            work.train(work.load_after(0), replace(self.settings, seed=self.settings.seed + run), run)

    def finish(self, data: Path, work: WorkFolder, out: Path) -> ScoringReport:
        """Write the mean of the runs' weights, with bias and scoring fitted on the last validation records."""
        ends = [work.load_after(1 + run) for run in range(self.runs)]
        model = mean_weights([*ends, *[work.load_after(0)] * self.kept])
        records = list(read_records(data / "validation.jsonl"))[-self.scored :]
        return write_scored(model, work, out, records)

    def _start(self) -> tuple[LamrModel, Tokenizer]:
        base = self.base or bundled_repository()
        if (base / CHECKPOINT_CONFIG).is_file():
            return load_checkpoint(base), Tokenizer.from_file(str(self._tokenizer_file()))
        return load_served(base)

    def _tokenizer_file(self) -> Path:
        base = self.base or bundled_repository()
        folder = base if (base / CHECKPOINT_CONFIG).is_file() else client_files(base)
        return folder / TOKENIZER_FILE
