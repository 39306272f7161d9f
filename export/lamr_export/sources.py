"""Where a checkpoint lies: in a folder, in a folder of the Hugging Face cache, or on the Hugging Face Hub.

The module turns what a user names into a folder and says what is wrong with folders of other kinds. It reads no
tensor.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from lamr_model.names import SCORING_FILE, SPEC_FILE, TOKENIZER_FILE
from lamr_model.spec import client_files

from lamr_export.config import CHECKPOINT_CONFIG
from lamr_export.errors import CheckpointError

CHECKPOINT_WEIGHTS = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"

_README = "README.md"
_WANTED = [
    *(CHECKPOINT_CONFIG, "*.safetensors", INDEX_FILE),
    *(TOKENIZER_FILE, SCORING_FILE, _README, "LICENSE*"),
]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_CACHE = "models--"
_LICENCE = re.compile(r"^license:\s*(\S.*?)\s*$", re.MULTILINE)


def checkpoint_folder(
    name: str | Path, revision: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Return the folder of a checkpoint, and download it first if it is named by its Hugging Face id.

    A download goes into the Hugging Face cache; a file that lies there isn't fetched again. Without a network, or with
    HF_HUB_OFFLINE, the cache is what counts.

    Raises:
        CheckpointError: the folder is of another kind, or the Hub has no such model or doesn't give it.
    """
    path = Path(name)
    if path.is_dir():
        if (path / "snapshots").is_dir():
            return _snapshot(path, revision or "main")
        if revision is not None:
            raise CheckpointError(f"{path} is a folder, which has no revisions; leave --revision out")
        _refuse_other_kinds(path)
        return path
    if _HUB_ID.fullmatch(str(name)) and not path.parent.is_dir():
        return _download(str(name), revision, progress)
    raise CheckpointError(
        f"{path} is not a folder; name the folder of a checkpoint's {CHECKPOINT_CONFIG}, or a model on the Hugging "
        "Face Hub as OWNER/NAME"
    )


def _download(name: str, revision: str | None, progress: Callable[[str], None]) -> Path:
    at = f"{name} at {revision}" if revision else name
    progress(f"fetching {at} from the Hugging Face Hub, or from its cache")
    try:
        folder = Path(huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=_WANTED))
    except (GatedRepoError, RepositoryNotFoundError) as error:
        raise CheckpointError(
            f"there is no folder {name}, and the Hugging Face Hub shows you no such model; check the name, or "
            "run `hf auth login` if the model is private or asks for consent"
        ) from error
    except RevisionNotFoundError as error:
        raise CheckpointError(
            f"{name} has no revision {revision}; name a branch, a tag or a whole commit"
        ) from error
    except LocalEntryNotFoundError as error:
        raise CheckpointError(
            f"{at} isn't in the Hugging Face cache, and the Hub can't be reached. Connect; or run `hf download {name} "
            "--local-dir FOLDER` where there is a network, copy FOLDER here, and name it"
        ) from error
    except (HfHubHTTPError, EntryNotFoundError, HFValidationError, OSError) as error:
        raise CheckpointError(f"{at} can't be downloaded: {error}") from error
    progress(f"{name}, commit {folder.name[:12]}, licence: {_licence(folder)}")
    if not any(folder.glob("*.safetensors")):
        raise CheckpointError(
            f"{name} has no safetensors files; convert its weights (torch.load with weights_only=True, then "
            f"safetensors.torch.save_file) and export that folder"
        )
    return folder


def refuse_pickles(folder: Path) -> None:
    """Refuse a folder whose weights are pickles alone.

    Raises:
        CheckpointError: it is one.
    """
    pickles = sorted(path.name for path in folder.glob("*.bin"))
    if pickles and not any((folder / name).is_file() for name in (CHECKPOINT_WEIGHTS, INDEX_FILE)):
        raise CheckpointError(
            f"{folder / pickles[0]} is a pickle, which can run any code when it is read; convert it: "
            f"safetensors.torch.save_file(torch.load('{pickles[0]}', weights_only=True), '{CHECKPOINT_WEIGHTS}')"
        )


def _snapshot(cache: Path, revision: str) -> Path:
    """Return the folder of a revision within a model's folder of the Hugging Face cache."""
    reference = cache / "refs" / revision
    commit = reference.read_text(encoding="ascii").strip() if reference.is_file() else revision
    folder = cache / "snapshots" / commit
    if folder.is_dir():
        return folder
    there = sorted(path.name for path in (cache / "snapshots").iterdir())
    raise CheckpointError(
        f"{cache} has no revision {revision}; give one of its commits as --revision: {', '.join(there) or 'none'}"
    )


def _licence(folder: Path) -> str:
    """Return the licence that the model card names."""
    card = folder / _README
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    named = _LICENCE.search(text.split("\n---", 1)[0]) if text.startswith("---") else None
    return named[1] if named else "not named by its model card; ask its authors"


def _refuse_other_kinds(folder: Path) -> None:
    """Raise an error that names what a folder is, if that is something else that people have beside checkpoints."""
    if (folder / CHECKPOINT_CONFIG).is_file():
        return
    cached = sorted(path.name for path in folder.glob(f"{_CACHE}*"))
    kinds = (
        (
            (client_files(folder) / SPEC_FILE).is_file(),
            "is an exported model repository; name what it was made of",
        ),
        (bool(cached), f"is a Hugging Face cache; name one of its folders: {', '.join(cached[:5])}"),
        ((folder / "adapter_config.json").is_file(), "holds an adapter; merge it into its model first"),
        (
            (folder / "state.pt").is_file(),
            "is a training's work folder; name the folder beside it with config.json",
        ),
    )
    for holds, what in kinds:
        if holds:
            raise CheckpointError(f"{folder} {what}")
