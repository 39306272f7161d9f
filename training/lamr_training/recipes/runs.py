"""`lamr train` without its command line: a preset by name, from a folder of records to a checkpoint folder.

Looks at the data first, so that what can't work fails with file and line before anything is computed; then hands over
to the preset's recipe. Knows recipes; trains nothing itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lamr_evaluation.records import Problem, read_records
from lamr_export.checkpoint import load_checkpoint, save_checkpoint

from lamr_training.errors import RecordError, RunError
from lamr_training.labels.block import UNPARSED
from lamr_training.loop.devices import find_place
from lamr_training.loop.examples import ExampleSet
from lamr_training.loop.run_folder import LOG
from lamr_training.loop.trainer import train
from lamr_training.model.backbone import minilm_folder
from lamr_training.model.chains import rubric_chains
from lamr_training.recipes import mini as recipe
from lamr_training.recipes import reranker
from lamr_training.recipes.presets import PRESETS, TrainingSettings
from lamr_training.syntax import parse_lines

RERANKER = "qwen3-reranker-0.6b"
SIZES: dict[str, recipe.RecipeSettings] = {
    "tiny": recipe.RecipeSettings(
        3_000, 100, 40, records=60, rounds=(recipe.Round(20),), checked=10, calibrated=5
    ),
}


@dataclass(frozen=True)
class RunOptions:
    """What of a preset is changed for one run; None leaves the preset's.

    Attributes:
        steps: optimizer steps.
        seed, patience: see `TrainingSettings`.
        trained: how many of the top layers are trained; the backbone's number of layers trains all of it, and its
            embeddings, 0 only what is new.
        workers: processes that train on this machine's CPU.
        base: folder of the backbone, for presets that don't bring their own.
    """

    steps: int | None = None
    seed: int | None = None
    patience: int | None = None
    trained: int | None = None
    workers: int = 1
    base: Path | None = None


@dataclass(frozen=True)
class RunReport:
    """What a run ended with.

    Attributes:
        preset, checkpoint: what was trained, and the folder it is in.
        validation: the last figures on validation chunks.
        chains: of each rubric and the fused chain, gate share and transitions, as text.
        scoring: what the fitted scoring reaches on validation files, if the preset fits one.
    """

    preset: str
    checkpoint: str
    validation: dict[str, Any]
    chains: tuple[str, ...]
    scoring: dict[str, Any] | None

    def to_json(self) -> str:
        """As one JSON object."""
        return json.dumps(asdict(self))


def run_preset(  # noqa: PLR0913 - keywords with defaults
    preset: str,
    data: Path,
    out: Path,
    options: RunOptions | None = None,
    *,
    work: Path | None = None,
    report: Callable[[Path, Problem], None] | None = None,
) -> RunReport | None:
    """Train a preset, going on where an interrupted run with the same `work` stopped.

    Args:
        preset: name in `PRESETS`.
        data: folder with `train.jsonl` and `validation.jsonl`.
        out: checkpoint folder to write.
        options: what to change of the preset.
        work: folder for what lies between; `out`/work by default.
        report: called with records whose code doesn't parse, which train without dependency labels.

    Returns:
        What the run ended with; None in processes beside the first.

    Raises:
        RunError: the preset is unknown or can't start; RecordError: the data can't be used, with file and line.
    """
    if preset not in PRESETS:
        raise RunError(f"preset {preset!r} is unknown; known are {', '.join(sorted(PRESETS))}")
    options, work, place = options or RunOptions(), work or out / "work", find_place()
    if place.first and not (work / recipe.CHECKS).exists():
        check_data(data, report)
    settings = _changed(PRESETS[preset], options, _base(preset, options))
    if preset == RERANKER:
        return _reranker(data, out, work, settings, _base(preset, options))
    if place.world > 1:
        raise RunError(
            f"{preset} trains on one machine's CPU; use --workers instead of several launched processes"
        )
    sizes = SIZES.get(preset, recipe.RecipeSettings())
    scoring = recipe.train_preset(
        preset,
        data,
        out,
        work=work,
        settings=settings,
        sizes=sizes,
        workers=options.workers,
    )
    last = recipe.of_round(recipe.RUN, len(sizes.rounds) - 1)
    return _report(preset, out, work, last, asdict(scoring))


def check_data(data: Path, report: Callable[[Path, Problem], None] | None = None) -> None:
    """Read every record.

    Raises:
        RecordError: a file is missing or empty, or a record can't be used.
    """
    if data.is_file():
        raise RecordError(f"{data}: name the folder that holds train.jsonl and validation.jsonl, not a file")
    for path in (data / "train.jsonl", data / "validation.jsonl"):
        number = 0
        for number, record in enumerate(read_records(path), 1):
            if report and record.kept_frags and parse_lines(record.code)[1] is None:
                report(path, Problem(number, UNPARSED))
        if not number:
            raise RecordError(f"{path}: holds no records; `lamr corpus` makes some")


def _base(preset: str, options: RunOptions) -> Path:
    """The backbone's folder."""
    if preset != RERANKER:
        if options.base:
            raise RunError(f"{preset} brings its own backbone; leave --base out")
        return minilm_folder()
    if options.base is None:
        raise RunError(f"{preset} needs --base, the folder of Qwen3-Reranker-0.6B as it was published")
    reranker.backbone_layers(options.base)  # says so if there is no backbone
    return options.base


def _changed(settings: TrainingSettings, options: RunOptions, base: Path) -> TrainingSettings:
    changes: dict[str, Any] = {
        name: value for name in ("steps", "seed", "patience") if (value := getattr(options, name)) is not None
    }
    if options.trained is not None:
        layers = reranker.backbone_layers(base)
        if options.trained > layers:
            raise RunError(f"{options.trained} layers can't be trained: {base} has {layers}")
        changes |= {
            "frozen_layers": layers - options.trained,
            "frozen_embeddings": options.trained < layers,
        }
    return replace(settings, **changes)


def _reranker(data: Path, out: Path, work: Path, settings: TrainingSettings, base: Path) -> RunReport | None:
    place = find_place()
    if place.first and not (work / reranker.CHECKS).exists():
        reranker.prepare_reranker(base, data, work, None, 200)
    place.wait()
    # The preset accumulates to the paper's batch of eight GPUs; processes take their share of it.
    settings = replace(settings, accumulate=max(1, settings.accumulate // place.world))
    model = load_checkpoint(work / reranker.START)
    examples, checks = ExampleSet.load(work / reranker.EXAMPLES), ExampleSet.load(work / reranker.CHECKS)
    train(model, examples, work / recipe.RUN, settings, validation=checks)
    place.wait()
    if not place.first:
        return None
    save_checkpoint(model, out, work / "tokenizer.json")
    return _report(RERANKER, out, work, recipe.RUN, None)


def _report(preset: str, out: Path, work: Path, run: str, scoring: dict[str, Any] | None) -> RunReport:
    rows = [json.loads(line) for line in (work / run / LOG).read_text(encoding="utf-8").splitlines()]
    checks = ExampleSet.load(work / recipe.CHECKS)
    return RunReport(
        preset,
        str(out),
        next((row for row in reversed(rows) if "f1" in row), {}),
        tuple(map(str, rubric_chains(load_checkpoint(out), checks))),
        scoring,
    )
