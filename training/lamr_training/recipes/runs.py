"""`lamr train` without its command line: a preset by name, from a folder of records to a checkpoint folder.

The data is read first, so that a record that can't be used is named with file and line before anything is computed;
then the recipe's stages follow."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lamr_evaluation.records import Problem, read_records, write_records

from lamr_training.errors import RecordError, RunError
from lamr_training.labels import parse_lines
from lamr_training.loop.losses import LossWeights
from lamr_training.loop.run_folder import LOG, TrainingSettings
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.recipes.fine_tune import FineTuneRecipe
from lamr_training.recipes.mini import MiniRecipe, MiniSizes, Round
from lamr_training.recipes.recipe import Recipe

UNPARSED = "the code doesn't parse as Python; it gets no dependency labels"

# Batches hold the chunks of some ten files. Ranks are what a pruner needs, so they weigh most. A backbone that learns
# fast forgets what sentences mean: at a rate of 1.5e-4 it lost more than all questions taught it.
_MINI = TrainingSettings(
    steps=2800,
    tokens=4096,
    bf16=True,
    learning_rate=3e-5,
    head_rate=8e-4,
    lexical_rate=2e-3,
    warmup=0.06,
    decay=0.5,
    average=0.99,
    validate_every=400,
    loss=LossWeights(relevance=0.2, listwise=1.0, ranking=2.0, balance=0.1),
)

PRESETS: dict[str, Recipe] = {
    "lamr-mini": MiniRecipe(settings=_MINI),
    # The shipped model learns more of what it is used for. Head rates are a fraction of those that it was made with.
    # Records of tasks have from one to hundreds of gold lines, so files count the same, and chains count more.
    "fine-tune": FineTuneRecipe(
        settings=replace(
            _MINI,
            steps=1000,
            head_rate=3e-4,
            lexical_rate=5e-4,
            warmup=0.04,
            decay=0.8,
            validate_every=200,
            loss=replace(_MINI.loss, even=True, chains=10.0),
        )
    ),
    # A quick check that everything is installed and the records are fit to train on.
    "tiny": MiniRecipe(
        settings=TrainingSettings(steps=20, tokens=512, validate_every=10, checkpoint_every=10, log_every=1),
        sizes=MiniSizes(
            vocabulary=3_000, new_words=100, files=40, records=60, rounds=(Round(20),), checked=10, scored=5
        ),
    ),
}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What one run changes of its preset; None leaves the preset's value."""

    steps: int | None = None  # how many optimizer steps are taken
    seed: int | None = None  # see `TrainingSettings`
    workers: int = 1  # how many processes train on this machine's CPU
    base: Path | None = None  # the folder of the backbone, for presets that don't bring their own
    count: int | None = None  # see `FineTuneRecipe`
    kept: int | None = None


@dataclass(frozen=True)
class RunReport:
    """What a run ended with."""

    preset: str  # what was trained, and the folder that holds it
    checkpoint: str
    validation: dict[str, Any]  # the last figures on validation chunks
    scoring: dict[str, Any] | None  # what the fitted scoring reaches on validation files

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def run_preset(  # noqa: PLR0913 - keywords with defaults
    preset: str,
    data: Path | Sequence[Path],
    out: Path,
    options: RunOptions | None = None,
    *,
    work: Path | None = None,
    report: Callable[[Path, Problem], None] | None = None,
) -> RunReport:
    """Train a preset, going on where an interrupted run with the same `work` stopped. Raises `RunError`: the preset is
    unknown or can't start. Raises `RecordError`: the data can't be used; the message names file and line."""
    if preset not in PRESETS:
        raise RunError(f"preset {preset!r} is unknown; known are {', '.join(sorted(PRESETS))}")
    options = options or RunOptions()
    recipe = changed_recipe(PRESETS[preset], options)
    folder = WorkFolder(work or out / "work")
    if isinstance(data, Path):
        data = [data]
    whole = data[0] if len(data) == 1 else folder.path / "data"
    if not folder.is_prepared(recipe.runs):
        if len(data) > 1:
            mix(data, whole)
        check_data(whole, report)
    recipe.prepare(whole, folder)
    recipe.fit(folder)
    scoring = recipe.finish(whole, folder, out)
    log = (folder.run(recipe.runs - 1) / LOG).read_text(encoding="utf-8")
    figures = [row for row in map(json.loads, log.splitlines()) if "f1" in row]
    return RunReport(preset, str(out), figures[-1] if figures else {}, asdict(scoring) if scoring else None)


def mix(folders: Sequence[Path], target: Path) -> None:
    """Write the records of several folders into one, shuffled, always in the same order."""
    target.mkdir(parents=True, exist_ok=True)
    for name in ("train.jsonl", "validation.jsonl"):
        records = [record for folder in folders for record in read_records(folder / name)]
        random.Random(0).shuffle(records)
        write_records(records, target / name)


def check_data(data: Path, report: Callable[[Path, Problem], None] | None = None) -> None:
    """Read every record."""
    if data.is_file():
        raise RecordError(f"{data}: name the folder that holds train.jsonl and validation.jsonl, not a file")
    for path in (data / "train.jsonl", data / "validation.jsonl"):
        number = 0
        for number, record in enumerate(read_records(path), 1):
            if report and record.kept_frags and parse_lines(record.code)[1] is None:
                report(path, Problem(number, UNPARSED))
        if not number:
            raise RecordError(f"{path}: holds no records; `python -m lamr_training.commits` makes some")


def changed_recipe(recipe: Recipe, options: RunOptions) -> Recipe:
    recipe = replace(recipe, base=options.base, workers=options.workers)
    soup = {name: value for name in ("count", "kept") if (value := getattr(options, name)) is not None}
    if soup and not isinstance(recipe, FineTuneRecipe):
        raise RunError("several runs and their mean are the preset fine-tune's")
    recipe = replace(recipe, **soup)
    recipe.check()
    changes = {name: value for name in ("steps", "seed") if (value := getattr(options, name)) is not None}
    return replace(recipe, settings=replace(recipe.settings, **changes))
