"""How `lamr-mini` is made from records, start to finish: one function a stage, each leaving files for the next.

`prepare` makes the tokenizer, the start weights and the examples; `fit` trains on them, first on records made by
rules, then on written questions with some of the others; `finish` calibrates and writes the checkpoint folder.
`train_preset` is all of it. This module ties the others together and decides nothing itself.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from lamr_client.encoding import PromptEncoder
from lamr_client.in_process import InProcessTransport
from lamr_export.checkpoint import load_checkpoint, save_checkpoint
from lamr_export.repository import export_repository
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_training.backbone import alias_line_ends, load_minilm, start_mini
from lamr_training.calibration import ScoringReport, compare, fit_scoring, score_files
from lamr_training.errors import RunError
from lamr_training.examples import ChunkChoice, ExampleSet, make_examples
from lamr_training.presets import PRESETS, TUNING, TrainingSettings
from lamr_training.records import Record, read_records
from lamr_training.tokenizer import code_vocabulary
from lamr_training.trainer import STATE, train

START, CHECKS = "start", "validation.npz"
_PORT = 29611


@dataclass(frozen=True)
class Stage:
    """One of a recipe's trainings, by the names of its files in the work folder.

    Attributes:
        examples: what it trains on.
        run: folder of its run.
        after: run that it goes on from; None for the start weights.
    """

    examples: str
    run: str
    after: str | None = None


MADE = Stage("made.npz", "made")
WRITTEN = Stage("written.npz", "written", after="made")
# Share of the stage before in the weights that are shipped: the average ranks better than either of the two.
_EARLIER = 0.25
_GOLDEN = ChunkChoice(positives=2, hard=2.0, easy=1.0, hardest=6)


@dataclass(frozen=True)
class RecipeSettings:
    """Sizes of what `prepare` makes.

    Attributes:
        vocabulary, new_words: entries of the tokenizer, and how many of them are words that MiniLM lacks.
        files: files that the vocabulary and the tokens' rarity are counted on.
        window: lines of a document, for rarity.
        records: training records that become examples of the first stage.
        rehearsed: training records after those that are mixed into the second stage.
        passes: how often each written question is there, with other chunks of its file each time.
        checked: validation records that are chunked for the figures printed while training.
        calibrated: validation records whose whole files the scoring is fitted on, beside the handmade questions.
    """

    vocabulary: int = 24_000
    new_words: int = 3_000
    files: int = 2_200
    window: int = 40
    records: int = 12_000
    rehearsed: int = 1_200
    passes: int = 2
    checked: int = 60
    calibrated: int = 40


def train_preset(  # noqa: PLR0913 - keywords with defaults
    preset: str,
    data: Path,
    out: Path,
    *,
    work: Path | None = None,
    settings: TrainingSettings | None = None,
    tuning: TrainingSettings | None = None,
    sizes: RecipeSettings | None = None,
    workers: int = 1,
) -> ScoringReport:
    """From records to a checkpoint folder. Stages whose files lie in `work` are taken from there, so a run that was
    broken off goes on.

    Args:
        preset: name in `PRESETS`.
        data: folder that `build_corpus` wrote.
        out: checkpoint folder to write.
        work: folder for what lies between; `out`/work by default.
        settings, tuning: instead of the preset's, for the first and the last stage.
        workers: processes that train, one thread each; 1 leaves the threads to torch.

    Returns:
        How the fitted scoring does on validation files.

    Raises:
        RunError: the preset is unknown, or a stage can't be done; RecordError: a record is broken.
    """
    if preset not in PRESETS:
        raise RunError(f"preset {preset!r} is unknown; known are {', '.join(sorted(PRESETS))}")
    settings, sizes = settings or PRESETS[preset], sizes or RecipeSettings()
    work = work or out / "work"
    if not (work / CHECKS).exists():
        prepare(data, work, sizes)
    fit(work, MADE, settings, workers)
    last = MADE
    if preset in TUNING and (work / WRITTEN.examples).exists():
        last = WRITTEN
        fit(work, last, tuning or TUNING[preset], workers)
    return finish(data, work, out, sizes, last)


def prepare(data: Path, work: Path, sizes: RecipeSettings) -> None:
    """Write the start checkpoint and the examples into `work`."""
    records = list(read_records(data / "train.jsonl"))
    files = list({(r.project, r.path): r.code for r in records}.values())
    random.Random(0).shuffle(files)
    files = files[: sizes.files]
    _, base = load_minilm()
    queries = [record.query for record in records[: 3 * sizes.files]]
    words = code_vocabulary(base, [*files, *queries], sizes.vocabulary, sizes.new_words)
    documents = [part for text in files for part in _windows(text, sizes.window)]
    encodings = words.tokenizer.encode_batch_fast(documents, add_special_tokens=False)
    model = start_mini(words, [encoding.ids for encoding in encodings])
    work.mkdir(parents=True, exist_ok=True)
    words.tokenizer.save(str(work / "tokenizer.json"))
    save_checkpoint(model, work / START, work / "tokenizer.json")
    encoder = PromptEncoder(words.tokenizer, model.config.spec(""))
    assert model.lexical is not None
    rarity = model.lexical.rarity.numpy()
    chosen = records[: sizes.records]
    ExampleSet.of(list(make_examples(chosen, encoder, rarity))).save(work / MADE.examples)
    if (data / "written.jsonl").exists():
        rest = records[sizes.records :][: sizes.rehearsed]
        written_examples(data, rest, encoder, rarity, sizes.passes).save(work / WRITTEN.examples)
    checks = list(read_records(data / "validation.jsonl"))[: sizes.checked]
    ExampleSet.of(list(make_examples(checks, encoder, rarity, seed=1))).save(work / CHECKS)


def written_examples(
    data: Path, others: Sequence[Record], encoder: PromptEncoder, rarity: NDArray[np.float32], passes: int
) -> ExampleSet:
    """Examples of `data`'s written questions, `passes` times each, and of other records."""
    written = list(read_records(data / "written.jsonl"))
    found = list(make_examples(others, encoder, rarity))
    for seed in range(passes):
        base = 1 + max((example.group for example in found), default=-1)
        more = make_examples(written, encoder, rarity, choice=_GOLDEN, seed=seed)
        found += [replace(example, group=base + example.group) for example in more]
    return ExampleSet.of(found)


def fit(work: Path, stage: Stage, settings: TrainingSettings, workers: int = 1) -> None:
    """Train on a stage's examples in `work`, going on from its last step."""
    if workers > 1:
        processes.spawn(_worker, (work, stage, settings, workers), nprocs=workers)
    else:
        _train(work, stage, settings)


def finish(data: Path, work: Path, out: Path, sizes: RecipeSettings, stage: Stage = MADE) -> ScoringReport:
    """Calibrate a stage's weights, averaged with those of the stage before it, and write the checkpoint folder.

    Scorings are fitted on the outputs of the int8 export, which is what the shipped model serves.
    """
    model = load_checkpoint(work / START)
    model.load_state_dict(_averaged(work, stage))
    tokenizer = Tokenizer.from_file(str(work / START / "tokenizer.json"))
    alias_line_ends(model, tokenizer)
    records: Sequence[Record] = [
        *list(read_records(data / "validation.jsonl"))[-sizes.calibrated :],
        *read_records(data / "handmade.jsonl"),
    ]
    save_checkpoint(model, out, work / START / "tokenizer.json")
    exported = work / "calibration"
    export_repository(out, exported, "int8")
    with InProcessTransport(exported) as transport:
        found = score_files(transport, PromptEncoder.from_repository(exported), records)
    scoring = fit_scoring(found, model.config.rubrics, threshold=model.config.threshold)
    model.config = replace(model.config, scoring=scoring)
    save_checkpoint(model, out, work / START / "tokenizer.json")
    return compare(found, scoring, model.config.rubrics, model.config.threshold)


def _weights(work: Path, run: str) -> dict[str, torch.Tensor]:
    state = torch.load(work / run / STATE, weights_only=True)
    found: dict[str, torch.Tensor] = state.get("average") or state["model"]
    return found


def _averaged(work: Path, stage: Stage) -> dict[str, torch.Tensor]:
    last = _weights(work, stage.run)
    if stage.after is None:
        return last
    first = _weights(work, stage.after)
    return {
        name: torch.lerp(value, first[name], _EARLIER) if value.is_floating_point() else value
        for name, value in last.items()
    }


def _worker(rank: int, work: Path, stage: Stage, settings: TrainingSettings, workers: int) -> None:
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", _PORT, workers, is_master=rank == 0)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=workers)
    _train(work, stage, settings)
    dist.destroy_process_group()


def _train(work: Path, stage: Stage, settings: TrainingSettings) -> None:
    model = load_checkpoint(work / START)
    if stage.after is not None:
        model.load_state_dict(_weights(work, stage.after))
    data, checks = ExampleSet.load(work / stage.examples), ExampleSet.load(work / CHECKS)
    train(model, data, work / stage.run, settings, validation=checks if len(checks) else None)


def _windows(text: str, count: int) -> list[str]:
    lines = text.split("\n")
    return ["\n".join(lines[start : start + count]) for start in range(0, len(lines), count)]
