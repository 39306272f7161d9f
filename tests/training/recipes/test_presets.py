"""What `lamr train` refuses, and how a reranker's preset goes from a bare backbone to a checkpoint."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lamr_cli.main import app
from lamr_evaluation.problems import Problem
from lamr_evaluation.records import Record, read_records, write_records
from lamr_export.checkpoint import load_checkpoint, save_checkpoint
from lamr_training.errors import RecordError, RunError
from lamr_training.labels.rubrics import label_lines
from lamr_training.loop.run_folder import LOG
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.model.vocabulary import Vocabulary
from lamr_training.recipes import fine_tune
from lamr_training.recipes.fine_tune import FineTuneRecipe
from lamr_training.recipes.reranker import RerankerRecipe
from lamr_training.recipes.runs import (
    PRESETS,
    RERANKER,
    RunOptions,
    changed_recipe,
    check_data,
    mix,
    run_preset,
)
from tokenizers import Tokenizer
from transformers import Qwen3Config, Qwen3Model
from typer.testing import CliRunner

from tests.training.samples import tiny_model, vocabulary


@pytest.fixture
def data(tmp_path: Path, records: Sequence[Record]) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write_records(records, folder / "train.jsonl")
    write_records(records[:6], folder / "validation.jsonl")
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backbone's folder: four random layers and a tokenizer that knows yes and no."""
    folder = tmp_path_factory.mktemp("backbone")
    tokenizer = Tokenizer.from_str(vocabulary().tokenizer.to_str())
    tokenizer.add_tokens(["yes", "no"])
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4}
    config = Qwen3Config(vocab_size=tokenizer.get_vocab_size(), num_key_value_heads=2, head_dim=16, **sizes)
    Qwen3Model(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(
        PRESETS[RERANKER].settings,
        steps=3,
        tokens=4096,
        accumulate=1,
        frozen_layers=2,
        bf16=False,
        validate_every=1,
        checkpoint_every=1,
        log_every=1,
    )
    monkeypatch.setitem(PRESETS, RERANKER, RerankerRecipe(settings=settings))


def test_the_paper_s_table_5_is_the_preset() -> None:
    settings = PRESETS[RERANKER].settings
    assert (settings.loss.rubric, settings.loss.rubrics, settings.loss.balance) == (0.6, (1.0, 0.7), 0.002)
    assert settings.loss.relevance == 0.05
    assert 28 - settings.frozen_layers == 2
    assert settings.frozen_embeddings


def test_a_bare_reranker_becomes_a_checkpoint(tmp_path: Path, data: Path, base: Path, small: None) -> None:
    out = tmp_path / "out"
    report = run_preset(RERANKER, data, out, RunOptions(base=base))
    assert report is not None
    assert 0 <= report.validation["f1"] <= 1
    assert report.validation["step"] == 3
    trained, start = load_checkpoint(out), load_checkpoint(out / "work" / "start")
    assert trained.config.relevance == "yes_no"
    assert trained.config.dropout == 0.4
    chunking = trained.config.chunking  # not SWE-Pruner's, whose chunks fill the window
    assert (chunking.tokens, chunking.cut, chunking.overlap) == (2048, "lines", 50)
    for name, value in trained.state_dict().items():
        frozen = name.startswith(("backbone.embed", "backbone.layers.0.", "backbone.layers.1."))
        if frozen:
            assert torch.equal(value, start.state_dict()[name]), name
    assert not torch.equal(
        trained.backbone.layers[3].mlp.up_proj.weight, start.backbone.layers[3].mlp.up_proj.weight
    )
    log = (out / "work" / "run" / LOG).read_text()
    assert run_preset(RERANKER, data, out, RunOptions(base=base)) == report
    assert (out / "work" / "run" / LOG).read_text() == log


def bad_data(
    tmp_path: Path, train: str, validation: str = '{"query": "q", "code": "a", "kept_frags": [1]}\n'
) -> Path:
    (tmp_path / "train.jsonl").write_text(train)
    (tmp_path / "validation.jsonl").write_text(validation)
    return tmp_path


GOOD = json.dumps({"query": "q", "code": "a\n", "kept_frags": [1], "id": "x"}) + "\n"


@pytest.mark.parametrize(
    ("train", "reason"),
    [
        ("", r"train\.jsonl: holds no records; `python -m lamr_training.commits` makes some"),
        (GOOD + "\n" + GOOD, r"train\.jsonl:3: the id 'x' is that of line 1 already"),
        (GOOD + '{"query": "q"}', r"train\.jsonl:2: the fields 'code', 'kept_frags' are missing"),
        (GOOD.replace("[1]", "[2]"), r"train\.jsonl:1: kept_frags holds 2, but the code has lines 1 to 1"),
        (GOOD + "{", r"train\.jsonl:2: not JSON"),
    ],
)
def test_bad_data_is_named_before_anything_is_computed(tmp_path: Path, train: str, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        run_preset("tiny", bad_data(tmp_path, train), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"train\.jsonl: can't be read \(No such file"):
        run_preset("tiny", tmp_path, tmp_path / "out")
    with pytest.raises(RecordError, match="name the folder"):
        run_preset("tiny", bad_data(tmp_path, GOOD) / "train.jsonl", tmp_path / "out")


def test_code_that_does_not_parse_is_reported(tmp_path: Path) -> None:
    rows = [GOOD, GOOD.replace('"x"', '"y"').replace("a\\n", "def (:\\n")]
    reported: list[tuple[str, Problem]] = []
    check_data(bad_data(tmp_path, "".join(rows)), lambda path, problem: reported.append((path.name, problem)))
    assert [(name, problem.line) for name, problem in reported] == [("train.jsonl", 2)]


@pytest.mark.parametrize("code", ["import a\f\na.b()\n", "import a\ra.b()\r", "import a\r\n\fa.b()\r\n"])
def test_code_is_reported_exactly_when_it_gets_no_dependency_labels(tmp_path: Path, code: str) -> None:
    assert label_lines(code, [2]).dependency.tolist() == [True, False]
    row = json.dumps({"query": "q", "code": code, "kept_frags": [2]})
    reported: list[Problem] = []
    check_data(bad_data(tmp_path, row), lambda path, problem: reported.append(problem))
    assert not reported


@pytest.mark.parametrize(
    ("preset", "changes", "reason"),
    [
        ("huge", {}, "preset 'huge' is unknown; known are fine-tune, lamr-mini, qwen3-reranker-0.6b, tiny"),
        (RERANKER, {}, "needs --base"),
        ("tiny", {"base": Path()}, "brings its own backbone"),
        (RERANKER, {"base": Path(), "workers": 2}, "starts no processes itself; use `accelerate launch`"),
        (RERANKER, {"base": Path("nowhere")}, "nowhere: no backbone's folder"),
    ],
)
def test_runs_that_cannot_start_say_why(
    data: Path, tmp_path: Path, preset: str, changes: Any, reason: str
) -> None:
    with pytest.raises(RunError, match=reason):
        run_preset(preset, data, tmp_path / "out", RunOptions(**changes))


def test_tokenizers_without_offsets_or_answers_are_refused(data: Path, tmp_path: Path, base: Path) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "config.json").write_bytes((base / "config.json").read_bytes())
    options = RunOptions(base=folder)
    with pytest.raises(RunError, match=r"no tokenizer\.json, and only such a tokenizer gives the characters"):
        run_preset(RERANKER, data, tmp_path / "out", options)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(RunError, match=r"tokenizer\.json: not a tokenizer"):
        run_preset(RERANKER, data, tmp_path / "out", options)
    Tokenizer.from_str(vocabulary().tokenizer.to_str()).save(str(folder / "tokenizer.json"))
    with pytest.raises(RunError, match="no tokens `yes` and `no`"):
        run_preset(RERANKER, data, tmp_path / "out", options)


def test_the_command_prints_the_report(tmp_path: Path, data: Path, base: Path, small: None) -> None:
    arguments = [
        "train",
        RERANKER,
        "--data",
        str(data),
        "--output",
        str(tmp_path / "out"),
        "--base",
        str(base),
    ]
    done = CliRunner().invoke(app, [*arguments, "--steps", "2", "--seed", "3", "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["preset"] == RERANKER
    assert report["validation"]["step"] == 2
    assert load_checkpoint(report["checkpoint"]).config.rubrics == ("semantic", "dependency")


def test_several_folders_of_records_are_mixed_the_same_way_each_time(
    tmp_path: Path, records: Sequence[Record]
) -> None:
    for name, part in (("a", records[:8]), ("b", records[8:12])):
        (tmp_path / name).mkdir()
        write_records(part, tmp_path / name / "train.jsonl")
        write_records(part[:2], tmp_path / name / "validation.jsonl")
    for target in ("one", "two"):
        mix([tmp_path / "a", tmp_path / "b"], tmp_path / target)
    mixed = list(read_records(tmp_path / "one" / "train.jsonl"))
    assert mixed == list(read_records(tmp_path / "two" / "train.jsonl"))
    assert mixed != list(records[:12])
    assert sorted(each.id for each in mixed) == sorted(each.id for each in records[:12])
    assert len(list(read_records(tmp_path / "one" / "validation.jsonl"))) == 4


def test_fine_tuning_ends_with_the_mean_of_its_runs_and_of_the_start(
    tmp_path: Path, data: Path, words: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, work = tmp_path / "base", WorkFolder(tmp_path / "work")
    base.mkdir()
    words.tokenizer.save(str(base / "tokenizer.json"))
    save_checkpoint(tiny_model(words), base, base / "tokenizer.json")
    settings = replace(PRESETS["tiny"].settings, steps=1)
    recipe = FineTuneRecipe(settings=settings, base=base, checked=2)
    recipe = changed_recipe(recipe, RunOptions(base=base, count=2, kept=2))  # type: ignore[assignment]
    recipe.prepare(data, work)
    recipe.fit(work)
    written: list[dict[str, torch.Tensor]] = []
    monkeypatch.setattr(fine_tune, "write_scored", lambda model, *_: written.append(model.state_dict()))
    recipe.finish(data, work, tmp_path / "out")
    start, one, two = (work.load_after(run).state_dict() for run in range(3))
    name = "heads.emission.weight"
    assert not torch.equal(one[name], two[name])
    torch.testing.assert_close(written[0][name], (one[name] + two[name] + 2 * start[name]) / 4)
    with pytest.raises(RunError, match="are the preset fine-tune's"):
        changed_recipe(PRESETS["tiny"], RunOptions(count=2))
