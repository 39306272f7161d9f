"""The paper's Table 7 on our data: one small model for each variant and seed, all from one start, data and budget.

A finished run leaves its outcome in a file, so an interrupted ablation goes on where it stopped. This module knows runs
and files; `variants` says what the variants are, `judgement` how they are judged, `table` how they are presented.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from lamr_contract.children import standing_elsewhere
from lamr_contract.spec import bundled_repository
from lamr_evaluation.records import Record, read_records, write_records
from lamr_export.model import LamrModel
from lamr_postprocess import split_lines
from lamr_training.errors import RunError
from lamr_training.labels.rubrics import label_lines
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.examples import distinct_files, make_examples
from lamr_training.loop.losses import LossWeights
from lamr_training.loop.run_folder import STATE
from lamr_training.loop.settings import TrainingSettings
from lamr_training.loop.trainer import train
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.model.backbone import load_minilm, start_mini
from lamr_training.model.served import load_served
from lamr_training.model.vocabulary import code_vocabulary
from numpy.typing import NDArray

from benchmarks.ablation.context import near_lines
from benchmarks.ablation.judgement import Judged, Outcome, fused_loss, judge_files
from benchmarks.ablation.settings import AblationSettings
from benchmarks.ablation.textual_labels import textual_dependency
from benchmarks.ablation.variants import COLUMNS, VARIANTS, WEIGHTS, Variant
from benchmarks.ablation.worker_process import one_thread, prepare_worker

BUNDLED = "bundled"
"""Names the repository that ships, as a start."""
Job = tuple[Variant, int]
"""A variant and the seed that it is trained with."""


def ablate(
    data: Path,
    out: Path,
    settings: AblationSettings | None = None,
    *,
    workers: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Outcome]:
    """Train and judge every variant with every seed; what `out` holds of an interrupted ablation isn't done again.

    Args:
        data: the folder with `train.jsonl` and `validation.jsonl`.
        out: the folder for examples, runs and outcomes.
        settings: the budget.
        workers: how many runs are done at a time, one thread each.
        progress: called with "runs", the number of runs done, and the number of all runs.

    Raises:
        RunError: more layers are to be trained than there are, `out` holds an ablation with another budget, or there
            are no examples.
    """
    settings = settings or AblationSettings()
    if settings.trained_layers > settings.layers:
        raise RunError(f"{settings.trained_layers} layers can't be trained: there are {settings.layers}")
    _claim(out, settings)
    work = WorkFolder(out)
    if not work.is_prepared():
        _prepare(data, work, settings)
    jobs = [(variant, seed) for seed in range(settings.seeds) for variant in VARIANTS]
    missing = [job for job in jobs if not _outcome_path(out, *job).exists()]
    done = len(jobs) - len(missing)
    if progress:
        progress("runs", done, len(jobs))
    for number, _ in enumerate(_run_all(work, settings, missing, workers), done + 1):
        if progress:
            progress("runs", number, len(jobs))
    return [_read(_outcome_path(out, *job)) for job in jobs]


def _read(path: Path) -> Outcome:
    """The outcome that a run has left."""
    found = json.loads(path.read_text())
    return Outcome(**{**found, "files": tuple(Judged(**each) for each in found["files"])})


def _run_all(work: WorkFolder, settings: AblationSettings, jobs: list[Job], workers: int) -> Iterator[None]:
    """Do the runs, one or several at a time, and yield after each of them."""
    if workers == 1:
        for job in jobs:
            yield run_variant(work, settings, *job)
        return
    here = (os.getpid(), Path.cwd())
    with ProcessPoolExecutor(workers, get_context("spawn"), prepare_worker, here) as pool:
        with standing_elsewhere():  # this starts the processes
            running = [pool.submit(run_variant, work, settings, *job) for job in jobs]
        try:
            for future in as_completed(running):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_variant(work: WorkFolder, settings: AblationSettings, variant: Variant, seed: int) -> None:
    """Train and judge one variant on one thread, going on from its last checkpoint, and write its outcome."""
    examples, checks = ExampleSet.load(work.examples()), ExampleSet.load(work.checks)
    start, encoder = work.load_start()
    run = work.path / f"{variant.slug}-{seed}"
    with one_thread():
        model = variant_model(start, variant, seed)
        learned = variant_examples(examples, variant, variant.tree)
        train(model, learned, run, training_settings(settings, variant, seed))
        loss = fused_loss(model.eval(), variant_examples(checks, variant, True))
        judged = judge_files(model, encoder, list(read_records(_judged_path(work.path))))
        outcome = Outcome(variant.name, seed, loss, judged)
    path = _outcome_path(work.path, variant, seed)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(outcome)))
    part.replace(path)
    (run / STATE).unlink(missing_ok=True)  # the outcome is what counts, and there are many runs


def variant_model(start: LamrModel, variant: Variant, seed: int) -> LamrModel:
    """The start's encoder under a variant's new heads.

    The chains of an FFN keep potentials of 0, so that each token is decided by itself.
    """
    torch.manual_seed(seed)
    model = LamrModel(replace(start.config, rubrics=variant.rubrics))
    weights = {name: value for name, value in start.state_dict().items() if not name.startswith("heads.")}
    model.load_state_dict(weights, strict=False)
    if not variant.chains:
        for chain in (model.heads.rubric_crf, model.heads.fused_crf):
            if chain is not None:
                chain.requires_grad_(False)
    return model


def variant_examples(data: ExampleSet, variant: Variant, tree: bool) -> ExampleSet:
    """The examples with the columns that a variant learns.

    Args:
        data: examples whose rubrics are `COLUMNS`.
        variant: says which columns are learned.
        tree: whether dependency labels, and with them the aggregate label, come from the syntax tree.
    """
    names = [name if tree or name != "dependency" else "textual" for name in variant.rubrics]
    columns = data.rubrics[:, [COLUMNS.index(name) for name in names]]
    support = data.rubrics[:, COLUMNS.index("dependency" if tree else "textual")]
    aggregate = data.rubrics[:, 0] | support
    return ExampleSet(
        data.ids, columns, data.starts, data.spans, data.relevance, data.groups, data.evidence, aggregate
    )


def rubric_columns(record: Record) -> NDArray[np.uint8]:
    """The labels of a record's lines by every rubric that some variant learns, uint8 `[L, 4]`: `COLUMNS`."""
    labels = label_lines(record.code, record.kept_frags, record.score)
    gold = np.flatnonzero(labels.semantic) + 1
    lines = split_lines(record.code)
    textual = textual_dependency(lines, gold.tolist())
    context = near_lines(lines, labels.semantic)
    return np.stack([labels.semantic, labels.dependency, context, textual], axis=1).astype(np.uint8)


def training_settings(settings: AblationSettings, variant: Variant, seed: int) -> TrainingSettings:
    """How a variant is trained within the budget."""
    weights = tuple(WEIGHTS[name] for name in variant.rubrics)
    return TrainingSettings(
        steps=settings.steps,
        tokens=settings.tokens,
        learning_rate=settings.learning_rate,
        head_rate=settings.head_rate,
        frozen_layers=settings.layers - settings.trained_layers,
        frozen_embeddings=True,
        loss=LossWeights(rubrics=weights, relevance=0.5, balance=0.1),
        bf16=True,
        seed=seed,
        checkpoint_every=100,
    )


def _prepare(data: Path, work: WorkFolder, settings: AblationSettings) -> None:
    records = list(read_records(data / "train.jsonl"))[: settings.records]
    validation = list(read_records(data / "validation.jsonl"))
    checks = validation[: settings.checked]
    judged = [record for record in validation if record.kept_frags]
    if not records or not judged:
        raise RunError(f"{data}: train.jsonl or validation.jsonl holds no records")
    write_records(judged[: settings.judged], _judged_path(work.path))
    _write_start(work, records, settings)
    model, encoder = work.load_start()
    assert model.lexical is not None
    rarity = model.lexical.rarity.numpy()
    for path, chosen in ((work.examples(), records), (work.checks, checks)):
        examples = make_examples(chosen, encoder, rarity, label=rubric_columns)
        ExampleSet.of(list(examples)).save(path)


def _write_start(work: WorkFolder, records: list[Record], settings: AblationSettings) -> None:
    """Write the checkpoint that all variants begin with."""
    if settings.start:
        bundled = settings.start == BUNDLED
        work.write_start(*load_served(bundled_repository() if bundled else Path(settings.start)))
        return
    files = distinct_files(records)
    _, base = load_minilm()
    words = code_vocabulary(base, [*files, *(r.query for r in records)], settings.vocabulary, 1_000)
    documents = [words.tokenizer.encode(text, add_special_tokens=False).ids for text in files]
    work.write_start(start_mini(words, documents, settings.layers), words.tokenizer)


def _claim(out: Path, settings: AblationSettings) -> None:
    """Note the budget in `out`, or check that an earlier run had the same; there may be more seeds than before."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "settings.json"
    budget = {name: value for name, value in asdict(settings).items() if name != "seeds"}
    if not path.exists():
        path.write_text(json.dumps(budget))
    elif json.loads(path.read_text()) != budget:
        raise RunError(f"{path}: an ablation with another budget; give the same one, or another --output")


def _judged_path(out: Path) -> Path:
    return out / "judged.jsonl"


def _outcome_path(out: Path, variant: Variant, seed: int) -> Path:
    return out / f"{variant.slug}-{seed}.json"
