"""Where checkpoints come from: folders, the Hugging Face cache, and a hub on loopback, with what each refuses."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from lamr_base.errors import BAD_INPUT
from lamr_cli.exits import exit_code
from lamr_cli.main import app
from lamr_export import CheckpointError, load_checkpoint, repository_writer, verify
from lamr_export.checkpoint import checkpoint_folder
from lamr_model.spec import load_spec
from typer.testing import CliRunner, Result

from tests.http_server import Reply, Request, answering
from tests.traces import traced_once

from .models import write_swepruner

MODEL = "someone/pruner"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CARD = "---\nlanguage: en\nlicense: mit\n---\n# A pruner\nlicense: none of this\n"


class Hub:
    """The requests that huggingface_hub makes for one model, whose files lie in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[str] = []

    def answer(self, request: Request) -> Reply:
        self.requests.append(f"{request.method} {request.path}")
        path = request.path.split("?")[0]
        if MODEL not in path:
            return 404, b"", {"X-Error-Code": "RepoNotFound"}
        if path.startswith(f"/api/models/{MODEL}"):
            revision = path.removeprefix(f"/api/models/{MODEL}").split("/")[-1] or "main"
            if revision not in ("main", COMMIT):
                return 404, b"", {"X-Error-Code": "RevisionNotFound"}
            return 200, self._listing("/tree/" in path), {}
        file = self.folder / path.split(f"/resolve/{COMMIT}/")[-1]
        if not file.is_file():
            return 404, b"", {"X-Error-Code": "EntryNotFound"}
        content = file.read_bytes()
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
        return 200, content, headers

    def _listing(self, as_tree: bool) -> bytes:
        files = sorted(path for path in self.folder.iterdir())
        if as_tree:
            entries = [
                {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": "0" * 40}
                for path in files
            ]
            return json.dumps(entries).encode()
        siblings = [{"rfilename": path.name} for path in files]
        return json.dumps({"id": MODEL, "sha": COMMIT, "siblings": siblings}).encode()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one model, as the one that is asked, and an empty cache."""
    hub = Hub(tmp_path / "served")
    hub.folder.mkdir()
    write_swepruner(hub.folder)
    (hub.folder / "README.md").write_text(CARD)
    (hub.folder / "picture.png").write_bytes(b"not wanted")
    with answering(hub.answer) as endpoint:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)
        template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield hub


def test_an_id_is_downloaded_once_with_its_licence(hub, monkeypatch):
    lines: list[str] = []
    folder = checkpoint_folder(MODEL, progress=lines.append)
    assert {path.name for path in folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "README.md",
    }
    assert load_checkpoint(folder).config.rubrics == ("semantic",)
    assert lines[-1] == f"{MODEL}, commit {COMMIT[:12]}, licence: mit"
    fetched = [line for line in hub.requests if line.startswith("GET") and "/resolve/" in line]
    checkpoint_folder(MODEL, COMMIT)
    assert fetched == [line for line in hub.requests if line.startswith("GET") and "/resolve/" in line]
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    asked = len(hub.requests)
    assert checkpoint_folder(MODEL) == folder
    assert len(hub.requests) == asked


def command(*arguments: str | Path) -> Result:
    """`lamr export` as a shell runs it, but in this process, where the hub is the one that is asked."""
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_the_command_exports_an_id_and_says_whose_it_is(hub, tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setattr(verify, "LONGEST", 64)  # whole windows of 8,192 would take minutes
    monkeypatch.setattr(repository_writer, "standard_texts", lambda: [("alpha", "alpha = beta\n" * 20)])
    with traced_once(tmp_path_factory):
        ran = command(MODEL, "--output", tmp_path / "made", "--revision", COMMIT, "--json")
    assert ran.exit_code == 0, ran.output
    assert f"{MODEL}, commit {COMMIT[:12]}, licence: mit" in ran.stderr
    assert "scoring emission, threshold 0.5" in ran.stderr
    spec = load_spec(tmp_path / "made")
    assert json.loads(ran.stdout)["fingerprint"] == spec.fingerprint
    assert spec.scoring.kind == "emission"
    assert any("/resolve/" in line for line in hub.requests)


def test_the_command_says_what_the_hub_and_the_cache_lack(hub, tmp_path, monkeypatch):
    def refused(*arguments: str) -> str:
        ran = command(*arguments, "--output", tmp_path / "made")
        assert isinstance(ran.exception, CheckpointError)
        assert exit_code(ran.exception) == BAD_INPUT
        return str(ran.exception)

    assert re.search(r"no folder someone/else.*no such model.*hf auth login", refused("someone/else"))
    assert "no revision v9" in refused(MODEL, "--revision", "v9")
    hub.requests.clear()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "isn't in the Hugging Face cache" in refused(MODEL)
    assert hub.requests == []
    assert not (tmp_path / "made").exists()


def test_a_model_without_safetensors_and_without_a_licence(hub):
    (hub.folder / "model.safetensors").rename(hub.folder / "pytorch_model.bin")
    (hub.folder / "README.md").unlink()
    lines: list[str] = []
    with pytest.raises(CheckpointError, match=r"no safetensors files; convert.*save_file"):
        checkpoint_folder(MODEL, progress=lines.append)
    assert lines[-1].endswith("not named by its model card; ask its authors")


def test_a_folder_is_taken_as_it_is(tmp_path):
    write_swepruner(tmp_path)
    assert checkpoint_folder(tmp_path) == tmp_path
    with pytest.raises(CheckpointError, match="no revisions; leave --revision out"):
        checkpoint_folder(tmp_path, "main")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("lamr/1/lamr.json", "is an exported model repository"),
        ("snapshots/main/config.json", "in the Hugging Face cache; name the model as OWNER/NAME"),
        ("adapter_config.json", "holds an adapter"),
        ("state.pt", "is a training's work folder"),
    ],
)
def test_folders_of_other_kinds_are_named(tmp_path, file, message):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("{}")
    with pytest.raises(CheckpointError, match=message):
        checkpoint_folder(tmp_path)


@pytest.mark.parametrize("name", ["nowhere", "./a/b", "/no/where", "a/b/c", "runs/mni"])
def test_paths_that_lead_nowhere_are_not_asked_for(hub, tmp_path, monkeypatch, name):
    (tmp_path / "runs").mkdir()  # which a mistyped name begins with
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match=f"{name.removeprefix('./')} is not a folder"):
        checkpoint_folder(name)
    assert hub.requests == []
