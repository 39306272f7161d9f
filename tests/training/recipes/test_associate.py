"""A model repository gets associations, keeps its model, and prunes with both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from lamr_client import Pruner
from lamr_contract.names import ENCODER, ONNX_FILE, REPORT_FILE, SCORING_FILE, version_folder
from lamr_contract.scoring.weights import load_weights
from lamr_contract.spec import bundled_repository, client_files, load_spec
from lamr_evaluation.records import Record
from lamr_export.target import files_of
from lamr_serving.errors import ModelRepositoryError
from lamr_serving.repository_check.check import check_repository
from lamr_training.errors import RunError
from lamr_training.fits.associations import AssociationSettings
from lamr_training.fits.network import NETWORK_FEATURES, NetworkSettings
from lamr_training.fits.word_vectors import surfaces
from lamr_training.recipes.associate import HALVES, BuildSettings, associate, half_of

from tests.tiny import IN_FULL
from tests.training.fits.test_associations import records
from tests.training.samples import CACHE


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    chosen = [*records(8), Record("Where are entries removed?", CACHE, (45, 46, 47), project="cache")]
    for name in ("train", "validation"):
        text = "".join(replace(record, kind="edit").to_json() + "\n" for record in chosen)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_a_repository_gets_associations_and_keeps_its_model(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "made"
    settings = BuildSettings(
        associations=AssociationSettings(width=8, words=50, least=1, epochs=1, files=2),
        network=NetworkSettings(epochs=1, width=4),
        networked=6,
    )
    lines: list[str] = []
    report = associate(bundled_repository(), data, out, settings, lines.append)
    assert 0 < report.words <= 50
    assert report.files == 9
    assert len(lines) == 4
    spec, before = load_spec(out), load_spec(bundled_repository())
    assert spec.fingerprint == before.fingerprint, "a running server needn't be started again"
    weights = load_weights(client_files(out) / SCORING_FILE)
    assert weights.network.features == NETWORK_FEATURES
    assert weights.associations is not None
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
        result = pruner.prune("Where are old entries removed?", CACHE, path="cache.py", **IN_FULL)
    assert result.kept_lines
    (client_files(out) / SCORING_FILE).write_bytes(b"broken")
    with pytest.raises(ModelRepositoryError, match="can't be read"):
        check_repository(out)


def test_records_without_an_answer_give_no_threshold(data: Path, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_bytes((data / "train.jsonl").read_bytes())
    (tmp_path / "validation.jsonl").write_text(Record("What is it?", CACHE, ()).to_json() + "\n")
    settings = BuildSettings(
        associations=AssociationSettings(width=8, words=50, least=1, files=2),
        network=NetworkSettings(epochs=1, width=4),
        networked=4,
    )
    with pytest.raises(RunError, match="no validation record has lines that answer"):
        associate(bundled_repository(), tmp_path, tmp_path / "made", settings)
    assert not (tmp_path / "made").exists()


def test_projects_are_parted_in_halves() -> None:
    halves = [half_of(f"owner/{number}") for number in range(200)]
    assert set(halves) == set(range(HALVES))
    assert 70 < sum(halves) < 130


def test_stems_are_shown_to_the_encoder_as_they_are_written() -> None:
    texts = ["decode(decoded)", "decoded", "parse_url"]
    assert surfaces(texts, ["decod", "parse_url", "unseen"]) == ["decoded", "parse url", "unseen"]
