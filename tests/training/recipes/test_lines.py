"""A repository gets a line model that learned from records, keeps its encoder, and prunes with both."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lamr_base.errors import ModelMismatchError
from lamr_client import Pruner
from lamr_evaluation.records import Record
from lamr_export.repository_writer import files_of
from lamr_model.names import ENCODER, ONNX_FILE, REPORT_FILE, SCORING_FILE, version_folder
from lamr_model.scoring.weights import load_fusion, load_weights
from lamr_model.spec import bundled_repository, client_files, load_spec
from lamr_serving.errors import ModelRepositoryError
from lamr_serving.repository_check import check_repository
from lamr_training.errors import RunError
from lamr_training.fits.line_examples import WordCounts, counted_words
from lamr_training.fits.line_module import LineSizes
from lamr_training.fits.line_training import LineSettings
from lamr_training.recipes.lines import LinesSettings, train_lines

from tests.training.fits.lines import records
from tests.training.samples import CACHE

SMALL = LinesSettings(
    training=LineSettings(sizes=LineSizes(words=8, states=4), files=2, epochs=2),
    words=WordCounts(most=50, least=1),
    fresh=True,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    chosen = [*records(8), Record("Where are entries removed?", CACHE, (45, 46, 47), project="cache")]
    for name in ("train", "validation"):
        text = "".join(replace(record, kind="edit").to_json() + "\n" for record in chosen)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_a_repository_gets_a_line_model_and_keeps_its_encoder(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "made"
    stages: list[str] = []
    report = train_lines(bundled_repository(), data, out, SMALL, stages.append)
    assert 0 < report.words <= 50
    assert report.files == 9
    assert len(stages) == 3
    spec, before = load_spec(out), load_spec(bundled_repository())
    assert spec.fingerprint == before.fingerprint, "a running server needn't be started again"
    model = load_weights(client_files(out) / SCORING_FILE).model
    assert len(model.words) == report.words
    assert spec.scoring.asked is not None
    assert spec.scoring.told is not None
    assert 0 not in (spec.scoring.asked.bias, spec.scoring.told.bias), (
        "few questions take the bias of all files"
    )
    assert check_repository(out) == spec
    before_and_after = (version_folder(root, ENCODER) / ONNX_FILE for root in (bundled_repository(), out))
    assert len({path.read_bytes() for path in before_and_after}) == 1
    report_file = version_folder(out, ENCODER) / REPORT_FILE
    sizes = json.loads(report_file.read_text(encoding="utf-8"))["files"]
    assert sizes == {name: size for name, size in files_of(out).items() if (out / name) != report_file}
    with Pruner(model=out) as pruner:
        result = pruner.prune("Where are old entries removed?", CACHE, path="cache.py")
    assert result.kept_lines
    on = train_lines(out, data, tmp_path / "on", replace(SMALL, fresh=False))
    assert on.words == report.words, "it goes on from the model that is there"
    assert load_weights(client_files(tmp_path / "on") / SCORING_FILE).model.words == model.words
    (client_files(out) / SCORING_FILE).write_bytes(b"broken")
    with pytest.raises(ModelRepositoryError, match="can't be read"):
        check_repository(out)


def test_a_new_input_of_lines_takes_a_fresh_model_alone(data: Path, tmp_path: Path) -> None:
    base, place = tmp_path / "base", client_files(tmp_path / "base") / SCORING_FILE
    shutil.copytree(bundled_repository(), base)
    with np.load(place) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["layers.first"] = arrays["layers.first"][1:]  # as it was before there was one input more
    np.savez(place, **arrays)
    with pytest.raises(ModelMismatchError, match="can't be read"):
        train_lines(base, data, tmp_path / "made", replace(SMALL, fresh=False))
    train_lines(base, data, tmp_path / "made", SMALL)
    made = load_weights(client_files(tmp_path / "made") / SCORING_FILE)
    assert made.fusion.strides == load_fusion(place).strides


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("train", "no record has lines that answer"),
        ("validation", "no validation record has lines that answer"),
    ],
)
def test_records_without_an_answer_teach_nothing(data: Path, tmp_path: Path, name: str, message: str) -> None:
    for each in ("train", "validation"):
        (tmp_path / f"{each}.jsonl").write_bytes((data / f"{each}.jsonl").read_bytes())
    (tmp_path / f"{name}.jsonl").write_text(Record("What is it?", CACHE, ()).to_json() + "\n")
    with pytest.raises(RunError, match=message):
        train_lines(bundled_repository(), tmp_path, tmp_path / "made", SMALL)
    assert not (tmp_path / "made").exists()


def test_stems_are_shown_to_the_encoder_as_they_are_written() -> None:
    records = [Record("what does it parse_url", "decode(decoded)\ndecoded = 1\nparse_url\n", (1,))] * 2
    words, written = counted_words(records, WordCounts(least=2))
    shown = dict(zip(words, written, strict=True))
    assert shown["decod"] == "decoded"
    assert shown["parse_url"] == "parse url"
    assert counted_words(records, WordCounts(least=9)) == ([], [])
