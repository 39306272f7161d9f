"""The model that ships with the distribution is what the export would write today."""

import json
import shutil
from pathlib import Path

import pytest
from lamr_export import triton
from lamr_export.triton import decoder_program, model_config
from lamr_model.crf import DecoderWeights
from lamr_model.names import (
    DECODER,
    ENCODER,
    MODELS,
    PROGRAM_FILE,
    REPORT_FILE,
    SPEC_FILE,
    WEIGHTS_FILE,
    config_file,
    version_folder,
)
from lamr_model.spec import bundled_repository, client_files, load_spec

CONFIGS = {config_file(Path(), model).as_posix() for model in MODELS}
PROGRAM = (version_folder(Path(), DECODER) / PROGRAM_FILE).as_posix()
SPEC = (client_files(Path()) / SPEC_FILE).as_posix()


def report_of(root: Path) -> dict:
    return json.loads((version_folder(root, ENCODER) / REPORT_FILE).read_text(encoding="utf-8"))


def written_today(root: Path) -> dict[str, bytes]:
    """The text files of a repository as the export writes them for its spec, weights and report."""
    spec, report = load_spec(root), report_of(root)
    width = DecoderWeights.load(version_folder(root, DECODER) / WEIGHTS_FILE).fused_size
    texts = {
        config_file(Path(), model).as_posix(): model_config(
            model, spec, width, report["max_batch_size"], report["precision"], report["parameters"]
        )
        for model in MODELS
    }
    texts |= {SPEC: spec.to_json()}
    return {name: text.encode() for name, text in texts.items()} | {PROGRAM: decoder_program()}


def outdated(root: Path) -> set[str]:
    """Files of a repository that differ from what the export writes."""
    return {name for name, content in written_today(root).items() if (root / name).read_bytes() != content}


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """A copy of the shipped repository."""
    return shutil.copytree(bundled_repository(), tmp_path / "repository")


def test_the_shipped_files_are_those_of_the_templates() -> None:
    assert written_today(bundled_repository()).keys() == {*CONFIGS, PROGRAM, SPEC}
    assert outdated(bundled_repository()) == set()


def test_the_shipped_report_is_of_the_shipped_files() -> None:
    root = bundled_repository()
    report, spec = report_of(root), load_spec(root)
    assert (report["name"], report["version"], report["fingerprint"]) == (
        spec.name,
        spec.version,
        spec.fingerprint,
    )
    assert report["files"] == {name: (root / name).stat().st_size for name in report["files"]}
    assert report["files"].keys() > {*CONFIGS, PROGRAM, SPEC}
    assert report["total_bytes"] == sum(report["files"].values())


@pytest.mark.parametrize("name", sorted({*CONFIGS, PROGRAM}))
def test_a_shipped_file_that_changes_alone_is_seen(shipped: Path, name: str) -> None:
    (shipped / name).write_bytes((shipped / name).read_bytes() + b"# by hand\n")
    assert outdated(shipped) == {name}


@pytest.mark.parametrize("model", MODELS)
def test_a_template_that_changes_alone_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    templates = shutil.copytree(Path(str(triton.TEMPLATES)), tmp_path / "templates")
    with (templates / f"{model}.pbtxt").open("a", encoding="utf-8") as template:
        template.write("# a setting of tomorrow\n")
    monkeypatch.setattr(triton, "TEMPLATES", templates)
    assert outdated(bundled_repository()) == {config_file(Path(), model).as_posix()}
