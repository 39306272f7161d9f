"""What `lamr train` refuses, how it mixes records, and what fine-tuning writes."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lamr_cli.main import app
from lamr_evaluation.records import Problem, Record, read_records, write_records
from lamr_export.checkpoint import save_checkpoint
from lamr_training.backbone import Vocabulary
from lamr_training.errors import RecordError, RunError
from lamr_training.fits.scoring import ScoringReport
from lamr_training.labels import label_lines
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.recipes import fine_tune
from lamr_training.recipes.fine_tune import FineTuneRecipe
from lamr_training.recipes.runs import (
    PRESETS,
    RunOptions,
    changed_recipe,
    check_data,
    mix,
    run_preset,
)
from typer.testing import CliRunner

from tests.training.samples import tiny_model


@pytest.fixture
def data(tmp_path: Path, records: Sequence[Record]) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write_records(records, folder / "train.jsonl")
    write_records(records[:6], folder / "validation.jsonl")
    return folder


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
        ("huge", {}, "preset 'huge' is unknown; known are fine-tune, lamr-mini, tiny"),
        ("tiny", {"base": Path()}, "brings its own backbone"),
        ("fine-tune", {"workers": 2}, "trains in one process; leave --workers out"),
    ],
)
def test_runs_that_cannot_start_say_why(
    data: Path, tmp_path: Path, preset: str, changes: Any, reason: str
) -> None:
    with pytest.raises(RunError, match=reason):
        run_preset(preset, data, tmp_path / "out", RunOptions(**changes))


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


def test_the_command_prints_the_report(
    tmp_path: Path, data: Path, words: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, out = tmp_path / "base", tmp_path / "out"
    base.mkdir()
    words.tokenizer.save(str(base / "tokenizer.json"))
    save_checkpoint(tiny_model(words), base, base / "tokenizer.json")
    settings = replace(PRESETS["tiny"].settings, validate_every=1)
    monkeypatch.setitem(PRESETS, "fine-tune", FineTuneRecipe(settings=settings, checked=2))
    fitted = ScoringReport(0.5, 0.6, 0.7, 0.8, 0.9)
    monkeypatch.setattr(fine_tune, "write_scored", lambda *_: fitted)
    arguments = ["train", "fine-tune", "--data", str(data), "--output", str(out), "--base", str(base)]
    done = CliRunner().invoke(app, [*arguments, "--steps", "2", "--seed", "3", "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["preset"], report["checkpoint"], report["scoring"]) == (
        "fine-tune",
        str(out),
        asdict(fitted),
    )
    assert report["validation"]["step"] == 2
