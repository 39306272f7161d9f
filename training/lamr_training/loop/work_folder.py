"""The folder between records and a trained model: a start checkpoint, examples, and one folder for each run.

Recipes and the ablation keep here what they prepare, so that a run that was broken off can go on."""

from dataclasses import dataclass
from pathlib import Path

from lamr_base.private_files import replaced
from lamr_export.checkpoint import copy_client_files, load_checkpoint, save_checkpoint
from lamr_export.config import CHECKPOINT_CONFIG
from lamr_export.model import LamrModel
from lamr_model.encoding import PromptEncoder
from lamr_model.names import TOKENIZER_FILE
from tokenizers import Tokenizer

from lamr_training.errors import RunError
from lamr_training.loop.examples import ExampleSet
from lamr_training.loop.run_folder import STATE, TrainingSettings, final_weights, read_checkpoint
from lamr_training.loop.trainer import train


@dataclass(frozen=True)
class WorkFolder:
    """A work folder; runs are counted from 0, and each goes on from the weights that the one before left."""

    path: Path  # the folder, which need not exist yet

    @property
    def start(self) -> Path:
        """The checkpoint that training starts from; it is complete when its configuration exists."""
        return self.path / "start"

    @property
    def tokenizer_file(self) -> Path:
        """The start checkpoint's tokenizer."""
        return self.start / TOKENIZER_FILE

    @property
    def checks(self) -> Path:
        """The examples that a run is validated on."""
        return self.path / "validation.npz"

    def examples(self, number: int = 0) -> Path:
        """The examples that a run trains on."""
        return self.path / f"{_numbered('examples', number)}.npz"

    def run(self, number: int = 0) -> Path:
        """The folder of a run (`lamr_training.loop.run_folder`)."""
        return self.path / _numbered("run", number)

    def has_start(self) -> bool:
        """Whether the start checkpoint is complete."""
        return (self.start / CHECKPOINT_CONFIG).exists()

    def is_prepared(self, runs: int = 1) -> bool:
        """Whether nothing is missing that so many runs need before the first one begins."""
        files = [self.checks, *(self.examples(number) for number in range(runs))]
        return self.has_start() and all(file.exists() for file in files)

    def write_start(self, model: LamrModel, tokenizer: Tokenizer, beside: Path | None = None) -> None:
        self.start.mkdir(parents=True, exist_ok=True)
        if beside is not None:
            copy_client_files(beside, self.start)
        with replaced(self.tokenizer_file) as part:
            tokenizer.save(str(part))
        save_checkpoint(model, self.start, self.tokenizer_file)

    def load_start(self) -> tuple[LamrModel, PromptEncoder]:
        model = load_checkpoint(self.start)
        return model, PromptEncoder(Tokenizer.from_file(str(self.tokenizer_file)), model.config.spec(""))

    def load_after(self, runs: int) -> LamrModel:
        """The model as the first `runs` runs have left it; the start if `runs` is 0."""
        model = load_checkpoint(self.start)
        if runs:
            path = self.run(runs - 1) / STATE
            state = read_checkpoint(path)
            if state is None:
                raise RunError(f"{path}: missing; train again to go on from the run before")
            model.load_state_dict(final_weights(state))
        return model

    def train(self, model: LamrModel, settings: TrainingSettings, number: int = 0) -> LamrModel:
        """Train a model on a run's examples, going on from the run's last checkpoint."""
        examples, checks = ExampleSet.load(self.examples(number)), ExampleSet.load(self.checks)
        return train(model, examples, self.run(number), settings, validation=checks if len(checks) else None)


def _numbered(name: str, number: int) -> str:
    return f"{name}-{number + 1}" if number else name
