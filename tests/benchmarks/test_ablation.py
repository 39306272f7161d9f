"""The ablation's variants differ in what they say, are judged alike, and aren't done twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lamr_contract.encoding import PromptEncoder
from lamr_contract.spec import bundled_repository
from lamr_evaluation.records import Record, write_records
from lamr_training.errors import RunError
from lamr_training.labels.rubrics import label_lines
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.losses import LossWeights
from lamr_training.loop.settings import make_optimizer
from lamr_training.loop.trainer import train
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.model.served import load_served
from lamr_training.model.vocabulary import Vocabulary
from lamr_training.recipes.runs import PRESETS

from benchmarks.ablation.context import near_lines
from benchmarks.ablation.judgement import Judged, Outcome, fused_loss, judge_files
from benchmarks.ablation.settings import AblationSettings
from benchmarks.ablation.study import BUNDLED, ablate, rubric_columns, training_settings
from benchmarks.ablation.study import _prepare as prepare
from benchmarks.ablation.study import variant_examples as examples_of
from benchmarks.ablation.study import variant_model as model_of
from benchmarks.ablation.table import ablation_json, ablation_table
from benchmarks.ablation.textual_labels import textual_dependency
from benchmarks.ablation.variants import VARIANTS, WHOLE
from tests.training.samples import CACHE, example_set, tiny_model

BY_NAME = {variant.name: variant for variant in VARIANTS}
FFN = next(variant for variant in VARIANTS if not variant.chains)
TEXT = next(variant for variant in VARIANTS if not variant.tree)


@pytest.fixture(scope="module")
def data(words: Vocabulary, records: list[Record]) -> ExampleSet:
    """Examples with the labels of every variant."""
    return example_set(words, records, rubric_columns)


def test_labels_without_a_tree_come_from_indents_and_words() -> None:
    lines = CACHE.splitlines()
    kept = [n for n, line in enumerate(lines, 1) if "stored = json.loads" in line]
    needed = [lines[n] for n in np.flatnonzero(textual_dependency(lines, kept))]
    assert "import json" in needed
    assert "class FileCache:" in needed
    assert any(line.strip().startswith("def load") for line in needed)
    assert "        else:" in needed
    assert "import time" not in needed
    assert "        except OSError:" not in needed, "siblings are the tree's to know"


def test_variants_learn_their_columns_and_are_judged_alike(data: ExampleSet) -> None:
    assert data.rubrics.shape[1] == 4
    plain = data.rubrics[:, 0] | data.rubrics[:, 1]
    for variant in VARIANTS:
        checked = examples_of(data, variant, True)
        assert checked.rubrics.shape[1] == len(variant.rubrics)
        assert (checked.aggregate == plain).all()
    text = examples_of(data, TEXT, False)
    assert (text.rubrics[:, 1] == data.rubrics[:, 3]).all()
    assert (text.aggregate == data.rubrics[:, 0] | data.rubrics[:, 3]).all()
    assert (text.aggregate != plain).any()
    both = examples_of(data, BY_NAME["dependency + context"], True)
    assert (both.rubrics == data.rubrics[:, 1:3]).all()


def test_columns_are_the_labels_of_lines(records: list[Record]) -> None:
    record = records[0]
    columns = rubric_columns(record)
    labels = label_lines(record.code, record.kept_frags, record.score)
    for number, name in enumerate(("semantic", "dependency")):
        assert (columns[:, number] == getattr(labels, name)).all()
    assert (columns[:, 2] == near_lines(list(record.lines), labels.semantic)).all()


def test_an_ffn_s_chains_stay_without_potentials(tmp_path: Path, words: Vocabulary, data: ExampleSet) -> None:
    model = model_of(tiny_model(words), FFN, seed=3)
    loss = LossWeights(rubrics=(1.0, 0.7, 0.7))
    settings = replace(PRESETS["tiny"].settings, steps=4, tokens=2048, loss=loss)
    before = model.heads.emission.weight.clone()
    train(model, examples_of(data, FFN, True), tmp_path, settings)
    assert not any(bool(p.any()) for p in model.heads.rubric_crf.parameters())
    assert model.heads.fused_crf is not None
    assert not any(bool(p.any()) for p in model.heads.fused_crf.parameters())
    assert not torch.equal(before, model.heads.emission.weight)


def test_seeds_change_what_is_new_only(words: Vocabulary) -> None:
    start = tiny_model(words)
    one, other, again = (model_of(start, VARIANTS[-1], seed) for seed in (0, 1, 0))
    assert torch.equal(
        one.backbone.get_input_embeddings().weight, other.backbone.get_input_embeddings().weight
    )
    assert not torch.equal(one.heads.hidden.weight, other.heads.hidden.weight)
    assert torch.equal(one.heads.hidden.weight, again.heads.hidden.weight)


def test_the_loss_is_that_of_the_fused_chain(words: Vocabulary, data: ExampleSet) -> None:
    model = model_of(tiny_model(words), VARIANTS[-1], seed=0).eval()
    checks = examples_of(data, VARIANTS[-1], True)
    with torch.no_grad():  # every path is as likely as any other
        for parameter in (*model.heads.emission.parameters(), *model.heads.fused_crf.parameters()):  # type: ignore[union-attr]
            parameter.zero_()
    assert fused_loss(model, checks) == pytest.approx(np.log(2), abs=1e-4)


def test_whole_files_are_judged_by_the_rank_of_their_lines(words: Vocabulary, records: list[Record]) -> None:
    model = model_of(tiny_model(words), VARIANTS[-1], seed=0).eval()
    encoder = PromptEncoder(words.tokenizer, model.config.spec(""))
    asked = [record for record in records if record.kept_frags][:4]
    judged = judge_files(model, encoder, asked)
    assert [each.file for each in judged] == [f"{record.project}/{record.path}" for record in asked]
    assert judged == judge_files(model, encoder, asked)
    with (
        torch.no_grad()
    ):  # no line is better than another, so a quarter of the lines holds a quarter of the gold
        for parameter in model.heads.emission.parameters():
            parameter.zero_()
        for parameter in model.heads.fused_crf.parameters():  # type: ignore[union-attr]
            parameter.zero_()
    for each in judge_files(model, encoder, asked):
        assert each.recall == pytest.approx(0.25, abs=0.02)
        assert 0 < each.f1 < 0.5
        assert each.area == pytest.approx(0.5, abs=0.02)


def test_an_ablation_is_done_once(
    tmp_path: Path, words: Vocabulary, data: ExampleSet, records: list[Record]
) -> None:
    work = WorkFolder(tmp_path)
    work.write_start(tiny_model(words), words.tokenizer)
    for path in (work.examples(), work.checks):
        data.save(path)
    write_records([record for record in records if record.kept_frags][:1], tmp_path / "judged.jsonl")
    settings = AblationSettings(steps=2, tokens=1024, seeds=1)
    shown: list[tuple[int, int]] = []
    first = ablate(
        tmp_path, tmp_path, settings, progress=lambda what, done, total: shown.append((done, total))
    )
    assert [outcome.variant for outcome in first] == [variant.name for variant in VARIANTS]
    assert shown == [(n, 7) for n in range(8)]
    (tmp_path / f"{FFN.slug}-0.json").unlink()
    shown.clear()
    assert (
        ablate(tmp_path, tmp_path, settings, progress=lambda what, done, total: shown.append((done, total)))
        == first
    )
    assert shown == [(6, 7), (7, 7)]
    more = ablate(tmp_path, tmp_path, replace(settings, seeds=2), workers=2)
    assert more[:7] == first
    assert {outcome.seed for outcome in more[7:]} == {1}
    with pytest.raises(RunError, match="another budget"):
        ablate(tmp_path, tmp_path, replace(settings, steps=3))


def outcomes(f1: dict[str, float]) -> list[Outcome]:
    """Two seeds of each variant on twelve files; what is easy in one file is so for all variants."""
    ease = np.linspace(-0.2, 0.2, 12)
    return [
        Outcome(
            name,
            seed,
            0.3,
            tuple(
                Judged(f"p/{n}.py", 0.6 + by, value + by + seed / 100, 0.7 + by) for n, by in enumerate(ease)
            ),
        )
        for name, value in f1.items()
        for seed in (0, 2)
    ]


def test_the_table_tells_differences_that_hold_from_those_that_do_not() -> None:
    figures = {"semantic": WHOLE.paper - 0.1, WHOLE.name: WHOLE.paper}
    table = ablation_table(outcomes(figures)).splitlines()
    assert table[0].split()[-2:] == ["paper's", "F1"]
    assert [line.split("  ")[0] for line in table[1:] if line[0] != " "] == list(figures)
    assert f"{WHOLE.paper + 0.01:.3f}" in table[-1]
    change = table[2]
    assert "-0.100 (-0.120 to -0.080)*" in change, "files vary by much more, but for both alike"
    assert "+0.000 (+0.000 to +0.000)" in change
    assert "-0.019" in change, "the paper's own difference"
    assert '"kept": 0.25' in ablation_json(outcomes(figures))


def test_a_model_that_ships_gives_all_variants_its_encoder(tmp_path: Path, records: list[Record]) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("train", "validation"):
        write_records(records[:3], data / f"{name}.jsonl")
    work = WorkFolder(tmp_path / "out")
    work.path.mkdir()
    settings = AblationSettings(start=BUNDLED, records=2, checked=2, judged=1)
    prepare(data, work, settings)
    model, _ = work.load_start()
    shipped, _ = load_served(bundled_repository())
    variant = model_of(model, VARIANTS[0], 0)
    for name, value in shipped.state_dict().items():
        if not name.startswith("heads."):
            assert torch.equal(variant.state_dict()[name], value), name
    assert variant.heads.emission.weight.shape != shipped.heads.emission.weight.shape
    assert len(ExampleSet.load(work.examples())) > 0


def test_a_frozen_backbone_takes_no_backward_pass(words: Vocabulary) -> None:
    model = tiny_model(words)
    layers = model.backbone.config.num_hidden_layers
    settings = training_settings(AblationSettings(layers=layers), BY_NAME["semantic"], 0)
    make_optimizer(model, settings)
    learning = [name for name, value in model.named_parameters() if value.requires_grad]
    assert learning
    assert not any(name.startswith("backbone.") for name in learning)


def test_no_more_layers_are_trained_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="3 layers can't be trained: there are 2"):
        ablate(tmp_path, tmp_path / "out", AblationSettings(layers=2, trained_layers=3))
    assert not (tmp_path / "out").exists()
