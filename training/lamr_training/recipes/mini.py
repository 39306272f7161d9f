"""How `lamr-mini` is made from records, start to finish: one function a stage, each leaving files for the next.

`prepare` makes the tokenizer, the start weights and the examples; `fit` trains on them, in rounds; `finish` calibrates
and writes the checkpoint folder. `train_preset` is all of it. This module ties the others together and decides nothing
itself.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from lamr_client.in_process import InProcessTransport
from lamr_contract.encoding import PromptEncoder
from lamr_evaluation.records import Record, read_records
from lamr_export.checkpoint import load_checkpoint, save_checkpoint
from lamr_export.model import LamrModel
from lamr_export.repository import export_repository
from lamr_postprocess import split_lines
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_training.errors import RunError
from lamr_training.loop.examples import ChunkChoice, ExampleSet, make_examples
from lamr_training.loop.trainer import STATE, train
from lamr_training.model.backbone import alias_line_ends, load_minilm, start_mini
from lamr_training.model.vocabulary import code_vocabulary
from lamr_training.recipes.presets import PRESETS, TrainingSettings
from lamr_training.recipes.scoring_fit import ScoringReport, compare, fit_scoring, score_files

START, EXAMPLES, CHECKS, RUN = "start", "examples.npz", "validation.npz", "run"
_PORT = 29611


# Of a written question's file: what answers, what looks like it, and a little of the rest.
_GOLDEN = ChunkChoice(positives=2, hard=2.0, easy=1.0, hardest=6)


@dataclass(frozen=True)
class Round:
    """One pass of training; it goes on from the weights of the one before, and its schedule starts anew.

    Attributes:
        mixed: records made by rules that go beside the written questions: those after the ones of the rounds before.
        share: of the preset's steps.
    """

    mixed: int
    share: float = 1.0


@dataclass(frozen=True)
class RecipeSettings:
    """Sizes of what `prepare` makes.

    Attributes:
        vocabulary, new_words: entries of the tokenizer, and how many of them are words that MiniLM lacks.
        files: files that the vocabulary and the tokens' rarity are counted on.
        window: lines of a document, for rarity.
        layers: how many of MiniLM's layers the model has, counted from the bottom; None for all.
        records: training records made by rules that become examples where there are no written questions.
        rounds: of training.
        checked: validation records that are chunked for the figures printed while training.
        calibrated: validation records whose whole files the scoring is fitted on, beside the handmade questions.
    """

    vocabulary: int = 24_000
    new_words: int = 3_000
    files: int = 2_200
    window: int = 40
    layers: int | None = None
    records: int = 12_000
    rounds: tuple[Round, ...] = (Round(800), Round(8_000, 0.8))
    checked: int = 60
    calibrated: int = 40


def train_preset(  # noqa: PLR0913 - keywords with defaults
    preset: str,
    data: Path,
    out: Path,
    *,
    work: Path | None = None,
    settings: TrainingSettings | None = None,
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
        settings: instead of the preset's.
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
    prepare(data, work, sizes)
    for number, each in enumerate(sizes.rounds):
        changed = replace(
            settings, steps=max(1, round(each.share * settings.steps)), seed=settings.seed + number
        )
        fit(work, changed, workers, number)
    return finish(data, work, out, sizes)


def of_round(name: str, number: int) -> str:
    """The name of a round's own file or folder in `work`: run, run-2, ..."""
    path = Path(name)
    return f"{path.stem}-{number + 1}{path.suffix}" if number else name


def prepare(data: Path, work: Path, sizes: RecipeSettings) -> None:
    """Write the start checkpoint and the examples into `work`, as far as they aren't there."""
    wanted = [
        number for number in range(len(sizes.rounds)) if not (work / of_round(EXAMPLES, number)).exists()
    ]
    if not wanted and (work / CHECKS).exists():
        return
    records = list(read_records(data / "train.jsonl"))
    if not (work / START).exists():
        _prepare_start(records, work, sizes)
    encoder, rarity = _reader(work)
    written = data / "written.jsonl"
    questions = list(read_records(written)) if written.exists() else []
    for number in wanted:
        found = list(make_examples(_made(records, sizes, number, bool(questions)), encoder, rarity))
        base = 1 + max((example.group for example in found), default=-1)
        more = make_examples(questions, encoder, rarity, choice=_GOLDEN, seed=number)
        found += [replace(example, group=base + example.group) for example in more]
        ExampleSet.of(found).save(work / of_round(EXAMPLES, number))
    checks = list(read_records(data / "validation.jsonl"))[: sizes.checked]
    ExampleSet.of(list(make_examples(checks, encoder, rarity, seed=1))).save(work / CHECKS)


def _prepare_start(records: Sequence[Record], work: Path, sizes: RecipeSettings) -> None:
    files = list({(r.project, r.path): r.code for r in records}.values())
    random.Random(0).shuffle(files)
    files = files[: sizes.files]
    _, base = load_minilm()
    queries = [record.query for record in records[: 3 * sizes.files]]
    words = code_vocabulary(base, [*files, *queries], sizes.vocabulary, sizes.new_words)
    documents = [part for text in files for part in _windows(text, sizes.window)]
    encodings = words.tokenizer.encode_batch_fast(documents, add_special_tokens=False)
    model = start_mini(words, [encoding.ids for encoding in encodings], sizes.layers)
    work.mkdir(parents=True, exist_ok=True)
    words.tokenizer.save(str(work / "tokenizer.json"))
    save_checkpoint(model, work / START, work / "tokenizer.json")


def _reader(work: Path) -> tuple[PromptEncoder, NDArray[np.float32]]:
    model = load_checkpoint(work / START)
    assert model.lexical is not None
    tokenizer = Tokenizer.from_file(str(work / "tokenizer.json"))
    return PromptEncoder(tokenizer, model.config.spec("")), model.lexical.rarity.numpy()


def _made(records: Sequence[Record], sizes: RecipeSettings, number: int, written: bool) -> list[Record]:
    """A round's records that rules have made, from the start again where they have come to the end."""
    counts = [each.mixed if written else sizes.records for each in sizes.rounds]
    first = sum(counts[:number])
    return list(islice(cycle(records), first, first + min(counts[number], len(records))))


def fit(work: Path, settings: TrainingSettings, workers: int = 1, number: int = 0) -> None:
    """Train a round, 0 the first, on its examples in `work`, going on from the last step.

    Raises:
        RunError: the workers were stopped before the last step.
    """
    if workers > 1:
        processes.spawn(_worker, (work, settings, workers, number), nprocs=workers)
        # Workers that were told to stop, and not this process, have ended as if all were well.
        state = torch.load(work / of_round(RUN, number) / STATE, weights_only=True)
        if not state["ended"] and state["step"] < settings.steps:
            raise RunError(
                f"the workers were stopped at step {state['step']}; the same command goes on from there"
            )
    else:
        _train(work, settings, number)


def finish(data: Path, work: Path, out: Path, sizes: RecipeSettings) -> ScoringReport:
    """Calibrate the mean of the rounds' weights and write the checkpoint folder.

    The second round is better where its records are many and worse where they are few; the mean, between two ends of
    one path, is better than either (Wortsman et al. 2022, model soups).

    Scorings are fitted on the outputs of the int8 export, which is what the shipped model serves.
    """
    model = _mean([_after(work, 1 + number) for number in range(len(sizes.rounds))])
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


def _after(work: Path, rounds: int) -> LamrModel:
    """The model as so many rounds have left it."""
    model = load_checkpoint(work / START)
    if rounds:
        state = torch.load(work / of_round(RUN, rounds - 1) / STATE, weights_only=True)
        model.load_state_dict(state["average"] or state["model"])
    return model


def _mean(models: list[LamrModel]) -> LamrModel:
    """The first of the models, with the mean of all their weights."""
    weights = [model.state_dict() for model in models]
    models[0].load_state_dict(
        {
            name: torch.stack([each[name] for each in weights]).mean(dim=0)
            if value.is_floating_point()
            else value
            for name, value in weights[0].items()
        }
    )
    return models[0]


def _worker(rank: int, work: Path, settings: TrainingSettings, workers: int, number: int) -> None:
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", _PORT, workers, is_master=rank == 0)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=workers)
    _train(work, settings, number)
    dist.destroy_process_group()


def _train(work: Path, settings: TrainingSettings, number: int) -> None:
    model = _after(work, number)
    data, checks = ExampleSet.load(work / of_round(EXAMPLES, number)), ExampleSet.load(work / CHECKS)
    train(model, data, work / of_round(RUN, number), settings, validation=checks if len(checks) else None)


def _windows(text: str, count: int) -> list[str]:
    lines = split_lines(text)
    return ["".join(lines[start : start + count]) for start in range(0, len(lines), count)]
