"""The whole recipe, from records to a calibrated checkpoint, on a few files and steps, with MiniLM's real weights."""

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from lamr_base.errors import ModelMismatchError
from lamr_evaluation.records import write_records
from lamr_export.checkpoint import load_checkpoint
from lamr_model.names import SCORING_FILE
from lamr_model.scoring.weights import weights_bytes
from lamr_model.spec import bundled_repository, client_files
from lamr_training.errors import RunError
from lamr_training.fits.scoring import ScoringReport
from lamr_training.loop.run_folder import STATE, TrainingSettings
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.recipes import recipe as recipe_module
from lamr_training.recipes.fine_tune import FineTuneRecipe
from lamr_training.recipes.mini import MiniRecipe, MiniSizes, Round

from tests.tiny import line_weights
from tests.training.samples import questions

RECIPE = MiniRecipe(
    settings=TrainingSettings(steps=2, tokens=512, checkpoint_every=1, average=0.5),
    sizes=MiniSizes(
        vocabulary=4000,
        new_words=50,
        files=4,
        layers=1,
        records=12,
        rounds=(Round(2), Round(2, 0.5)),
        checked=3,
        scored=3,
    ),
)


def written_at(work: WorkFolder) -> dict[Path, int]:
    """When each file of a work folder was written, but for TensorBoard's, which each process begins anew."""
    files = (path for path in work.path.rglob("*") if path.is_file())
    return {path: path.stat().st_mtime_ns for path in files}


@dataclass(frozen=True)
class Made:
    """What one run of the recipe left."""

    data: Path
    work: WorkFolder
    out: Path
    report: ScoringReport


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("mini")
    records = questions()
    data, work = folder / "data", WorkFolder(folder / "work")
    data.mkdir()
    for name, rows in {
        "train": records,
        "validation": [r for r in records if r.score][:4],
        "written": [r for r in records if r.score][4:6],
        "written-validation": [r for r in records if r.score][6:8],
    }.items():
        assert write_records(rows, data / f"{name}.jsonl")
    RECIPE.prepare(data, work)
    RECIPE.fit(work)
    return Made(data, work, folder / "out", RECIPE.finish(data, work, folder / "out"))


def test_from_records_to_a_checkpoint_with_a_fitted_scoring(made: Made, tmp_path: Path) -> None:
    data, work, report = made.data, made.work, made.report
    assert 0 < report.area <= 1
    model = load_checkpoint(made.out)
    assert model.config.scoring.kind == "lines"
    bundled = client_files(bundled_repository()) / SCORING_FILE
    assert (made.out / SCORING_FILE).read_bytes() == bundled.read_bytes(), "few files teach no network"
    assert model.config.fusion_width == 384
    assert model.config.similarity
    first, second = (torch.load(work.run(number) / STATE, weights_only=True) for number in (0, 1))
    name = "heads.hidden.weight"
    mean = (first["average"][name] + second["average"][name]) / 2
    torch.testing.assert_close(model.state_dict()[name], mean)
    assert not torch.equal(first["average"][name], second["average"][name])
    assert (first["step"], second["step"]) == (2, 1)
    assert second["seed"] == first["seed"] + 1, "a second round has an order of its own"
    before = written_at(work)
    RECIPE.prepare(data, work)
    RECIPE.fit(work)
    assert RECIPE.finish(data, work, tmp_path / "again") == report
    assert written_at(work) == before, "finished stages are taken from the work folder"


def test_a_trained_model_learns_more_and_keeps_what_was_learned_for_its_scoring(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [exported] = made.work.path.glob("exported-*")  # nearly the same weights; tracing takes most of a minute
    monkeypatch.setattr(recipe_module, "_exported", lambda *_: exported)
    base = tmp_path / "base"
    shutil.copytree(made.out, base, ignore=shutil.ignore_patterns("work"))
    learned = weights_bytes(line_weights(("load", "key", "path"), own=1.0))
    (base / SCORING_FILE).write_bytes(learned)
    recipe = FineTuneRecipe(settings=replace(RECIPE.settings, steps=2), base=base, checked=3, scored=3)
    recipe.check()
    work = WorkFolder(tmp_path / "work")
    recipe.prepare(made.data, work)
    recipe.fit(work)
    report = recipe.finish(made.data, work, tmp_path / "out")
    assert 0 < report.area <= 1
    name = "heads.hidden.weight"
    start, trained, out = (
        model.state_dict()[name]
        for model in (load_checkpoint(base), work.load_after(1), load_checkpoint(tmp_path / "out"))
    )
    assert not torch.equal(start, trained)
    torch.testing.assert_close(out, trained)
    assert (tmp_path / "out" / SCORING_FILE).read_bytes() == learned
    scoring = load_checkpoint(tmp_path / "out").config.scoring
    assert scoring.told is not None
    assert scoring.told.bias, "its bias is fitted anew"
    versions = [load_checkpoint(folder).config.version for folder in (base, tmp_path / "out")]
    assert [re.fullmatch(r"0\.5\+[0-9a-f]{8}", version) is not None for version in versions] == [True, True]
    assert versions[0] != versions[1]
    with pytest.raises(RunError, match="one process"):
        replace(recipe, workers=2).check()
    with pytest.raises(ModelMismatchError, match="nowhere"):
        replace(recipe, base=tmp_path / "nowhere").check()
