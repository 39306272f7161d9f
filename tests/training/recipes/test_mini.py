"""The whole recipe, from records to a calibrated checkpoint, on a few files and steps, with MiniLM's real weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from lamr_evaluation.records import write_records
from lamr_export.checkpoint import load_checkpoint
from lamr_training.corpus.build import CorpusSettings, make_records
from lamr_training.errors import RunError
from lamr_training.recipes.mini import RUN, RecipeSettings, Round, of_round, train_preset
from lamr_training.recipes.presets import PRESETS, TrainingSettings

from tests.training.samples import files

SIZES = RecipeSettings(
    vocabulary=4000,
    new_words=50,
    files=4,
    layers=2,
    records=12,
    rounds=(Round(2), Round(2, 0.5)),
    checked=3,
    calibrated=3,
)


def test_from_records_to_a_calibrated_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        PRESETS, "tiny", TrainingSettings(steps=2, tokens=512, checkpoint_every=1, average=0.5)
    )
    records = make_records(files(), CorpusSettings(min_lines=10, queries_per_file=8))["train"]
    data = tmp_path / "data"
    data.mkdir()
    for name, rows in {
        "train": records,
        "validation": [r for r in records if r.score][:4],
        "written": [r for r in records if r.score][4:6],
        "handmade": [r for r in records if r.score][6:8],
    }.items():
        assert write_records(rows, data / f"{name}.jsonl")

    report = train_preset("tiny", data, tmp_path / "out", work=tmp_path / "work", sizes=SIZES)

    assert 0 < report.area <= 1
    model = load_checkpoint(tmp_path / "out")
    assert model.config.scoring.kind == "relative"
    assert model.config.fusion_width == 384
    assert model.config.similarity
    first, second = (
        torch.load(tmp_path / "work" / of_round(RUN, number) / "state.pt", weights_only=True)
        for number in (0, 1)
    )
    name = "heads.hidden.weight"
    mean = (first["average"][name] + second["average"][name]) / 2
    torch.testing.assert_close(model.state_dict()[name], mean)
    assert not torch.equal(first["average"][name], second["average"][name])
    assert (first["step"], second["step"]) == (2, 1)
    assert second["seed"] == first["seed"] + 1, "a second round has an order of its own"
    again = train_preset("tiny", data, tmp_path / "again", work=tmp_path / "work", sizes=SIZES)
    assert again == report, "finished stages are taken from the work folder"


def test_an_unknown_preset_names_the_known(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="lamr-mini"):
        train_preset("lamr-maxi", tmp_path, tmp_path)
