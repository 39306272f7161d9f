"""The paper's Table 7 on our data: one small model a variant and seed, all with the same start, data and budget.

Every variant is judged by the same question: which code tokens of validation chunks are evidence or needed by it. A
variant that learns without the syntax tree still has to answer that. What variants differ in is `variants`' matter,
how they are presented `ablation_table`'s.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from lamr_decoding import LinearChainCrf, marginals, nll
from lamr_evaluation.records import Record, read_records
from lamr_export.checkpoint import load_checkpoint
from lamr_export.model import LamrModel
from lamr_postprocess import split_lines
from numpy.typing import NDArray

from lamr_training.ablation.variants import COLUMNS, VARIANTS, WEIGHTS, Variant
from lamr_training.errors import RunError
from lamr_training.labels.block import prepare_worker
from lamr_training.labels.rubrics import LabelSettings, label_lines
from lamr_training.labels.textual import textual_dependency
from lamr_training.loop.batches import batch_plan, make_batch
from lamr_training.loop.devices import one_thread
from lamr_training.loop.examples import ExampleSet, make_examples
from lamr_training.loop.losses import LossWeights
from lamr_training.loop.run_folder import STATE
from lamr_training.loop.settings import TrainingSettings
from lamr_training.loop.trainer import forward, train
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.model.backbone import load_minilm, start_mini
from lamr_training.model.vocabulary import code_vocabulary
from lamr_training.recipes.mini import distinct_files

Job = tuple[Variant, int]
"""A variant and the seed that it is trained with."""


@dataclass(frozen=True, kw_only=True)
class AblationSettings:
    """The budget that all variants share.

    Attributes:
        layers: of the backbone, counted from the bottom.
        trained_layers: how many of them learn, counted from the top. With none the backbone's states are the same for
            all variants, as nearly in the paper, and a step costs a third.
        records, checked: training and validation records that become examples.
        vocabulary: entries of the tokenizer.
        steps, tokens, learning_rate, head_rate: of training.
        seeds: how many runs a variant has; they differ in new weights, order and dropout.
    """

    layers: int = 6
    trained_layers: int = 0
    records: int = 2_000
    checked: int = 150
    vocabulary: int = 12_000
    steps: int = 300
    tokens: int = 2048
    learning_rate: float = 3e-5
    head_rate: float = 1e-3
    seeds: int = 3


@dataclass(frozen=True)
class Outcome:
    """One run's figures on validation tokens: NLL of the fused chain a token, and the quality of its decisions."""

    variant: str
    seed: int
    loss: float
    accuracy: float
    precision: float
    recall: float
    f1: float


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
        data: folder with `train.jsonl` and `validation.jsonl`.
        out: folder for examples, runs and outcomes.
        settings: the budget.
        workers: runs at a time, one thread each.
        progress: called with runs done.

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
    return [Outcome(**json.loads(_outcome_path(out, *job).read_text())) for job in jobs]


def _run_all(work: WorkFolder, settings: AblationSettings, jobs: list[Job], workers: int) -> Iterator[None]:
    """Do the runs, one or several at a time, and yield after each of them."""
    if workers == 1:
        for job in jobs:
            yield run_variant(work, settings, *job)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), prepare_worker, (os.getpid(),)) as pool:
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
    run = work.path / f"{variant.slug}-{seed}"
    with one_thread():
        model = variant_model(load_checkpoint(work.start), variant, seed)
        train(
            model, variant_examples(examples, variant, variant.tree), run, _training(settings, variant, seed)
        )
        outcome = judge(model, variant_examples(checks, variant, True), variant.name, seed)
    path = _outcome_path(work.path, variant, seed)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(outcome)))
    part.replace(path)
    (run / STATE).unlink(missing_ok=True)  # the outcome is what counts, and there are many runs


def variant_model(start: LamrModel, variant: Variant, seed: int) -> LamrModel:
    """The start's backbone, projection and evidence under a variant's new heads; an FFN's chains have no potentials."""
    torch.manual_seed(seed)
    model = LamrModel(replace(start.config, rubrics=variant.rubrics))
    kept = {
        n: v
        for n, v in start.state_dict().items()
        if n.startswith(("backbone.", "fusion_input.", "lexical."))
    }
    model.load_state_dict(kept, strict=False)
    if not variant.chains:
        for chain in (model.heads.rubric_crf, model.heads.fused_crf):
            if chain is not None:
                chain.requires_grad_(False)
    return model


def variant_examples(data: ExampleSet, variant: Variant, tree: bool) -> ExampleSet:
    """The columns that a variant learns; the aggregate is evidence with what it needs, by tree or by text."""
    names = [name if tree or name != "dependency" else "textual" for name in variant.rubrics]
    columns = data.rubrics[:, [COLUMNS.index(name) for name in names]]
    support = data.rubrics[:, COLUMNS.index("dependency" if tree else "textual")]
    aggregate = data.rubrics[:, 0] | support
    return ExampleSet(
        data.ids, columns, data.starts, data.spans, data.relevance, data.groups, data.evidence, aggregate
    )


def judge(model: LamrModel, data: ExampleSet, name: str, seed: int, tokens: int = 4096) -> Outcome:
    """The fused chain's marginals against the aggregate label, over all code tokens.

    A token is kept from the marginal on that gives the best F1 on the other half of the files: after few steps a chain
    knows which tokens rank high long before any of them reaches one half.
    """
    model.eval()
    chain = LinearChainCrf(*(part.detach() for part in model.heads.fused_crf_tensors()))
    loss, found = 0.0, []
    with torch.no_grad():
        for chosen in batch_plan(data.lengths, data.groups, tokens, 0):
            batch = make_batch(data, chosen)
            emissions = forward(model, batch)[0].fused_emissions
            loss += float(nll(emissions, batch.aggregate, batch.code_cu_seqlens, chain).sum())
            group = batch.groups.repeat_interleave(batch.code_cu_seqlens.diff())
            keep = marginals(emissions, batch.code_cu_seqlens, chain)
            found.append(torch.stack([keep.double(), batch.aggregate.double(), group.double()]).numpy())
    keep, wanted, group = np.concatenate(found, axis=1)
    half, gold = group % 2 == 1, wanted == 1
    decided = np.where(
        half, keep >= best_threshold(keep[~half], gold[~half]), keep >= best_threshold(keep[half], gold[half])
    )
    hits = (decided & gold).sum()
    return Outcome(
        name,
        seed,
        loss=round(loss / len(gold), 5),
        accuracy=round(float((decided == gold).mean()), 5),
        precision=round(float(hits / max(1, decided.sum())), 5),
        recall=round(float(hits / max(1, gold.sum())), 5),
        f1=round(float(2 * hits / max(1, decided.sum() + gold.sum())), 5),
    )


def best_threshold(scores: NDArray[np.float64], gold: NDArray[np.bool_]) -> float:
    """The score from which keeping gives the best F1; 1/2 without gold."""
    if not gold.any():
        return 0.5
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(gold[order])
    f1 = 2 * hits / (np.arange(1, len(scores) + 1) + gold.sum())
    last = np.append(np.diff(scores[order]) != 0, True)  # a threshold takes equal scores together
    return float(scores[order][np.argmax(np.where(last, f1, -1.0))])


def rubric_columns(record: Record, settings: LabelSettings) -> NDArray[np.uint8]:
    """Labels of a record's lines by every rubric that some variant learns, `[L, 4]`."""
    labels = label_lines(record.code, record.kept_frags, record.score, settings)
    kept = np.flatnonzero(labels.semantic) + 1
    textual = textual_dependency(split_lines(record.code), kept.tolist())
    return np.stack([labels.semantic, labels.dependency, labels.context, textual], axis=1).astype(np.uint8)


def _training(settings: AblationSettings, variant: Variant, seed: int) -> TrainingSettings:
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
    checks = list(read_records(data / "validation.jsonl"))[: settings.checked]
    if not records or not checks:
        raise RunError(f"{data}: train.jsonl or validation.jsonl holds no records; `lamr corpus` makes some")
    files = distinct_files(records)
    _, base = load_minilm()
    words = code_vocabulary(base, [*files, *(r.query for r in records)], settings.vocabulary, 1_000)
    documents = [words.tokenizer.encode(text, add_special_tokens=False).ids for text in files]
    work.write_start(start_mini(words, documents, settings.layers), words.tokenizer)
    model, encoder = work.load_start()
    assert model.lexical is not None
    rarity = model.lexical.rarity.numpy()
    for path, chosen in ((work.examples(), records), (work.checks, checks)):
        examples = make_examples(chosen, encoder, rarity, label=rubric_columns)
        ExampleSet.of(list(examples)).save(path)


def _claim(out: Path, settings: AblationSettings) -> None:
    """Note the budget of a run in `out`, or see that it is the same; there may be more seeds than before."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "settings.json"
    budget = {name: value for name, value in asdict(settings).items() if name != "seeds"}
    if not path.exists():
        path.write_text(json.dumps(budget))
    elif json.loads(path.read_text()) != budget:
        raise RunError(f"{path}: an ablation with another budget; give the same one, or another --out")


def _outcome_path(out: Path, variant: Variant, seed: int) -> Path:
    return out / f"{variant.slug}-{seed}.json"
