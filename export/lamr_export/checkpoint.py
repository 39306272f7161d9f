"""Checkpoint folders: where they lie, and `config.json`, `model.safetensors` and `tokenizer.json` in them.

A user names a folder, or an id on the Hub; errors say what is wrong with folders of
other kinds. Two layouts can be read, which `model_type` tells apart: LaMR's own and SWE-Pruner's
(`lamr_export.swepruner`). The folder of a bare backbone is no checkpoint; `LamrModel.from_backbone` starts from
one."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from lamr_base.private_files import replaced
from lamr_model.names import SCORING_FILE, SPEC_FILE, TOKENIZER_FILE
from lamr_model.spec import client_files
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.initialization import no_init_weights

from lamr_export import swepruner
from lamr_export.config import CHECKPOINT_CONFIG, MODEL_TYPE, LamrConfig
from lamr_export.errors import CheckpointError
from lamr_export.model import LamrModel

CHECKPOINT_WEIGHTS = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"

_README = "README.md"
_WANTED = [
    *(CHECKPOINT_CONFIG, "*.safetensors", INDEX_FILE),
    *(TOKENIZER_FILE, SCORING_FILE, _README, "LICENSE*"),
]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_LICENCE = re.compile(r"^license:\s*(\S.*?)\s*$", re.MULTILINE)


def checkpoint_folder(
    name: str | Path, revision: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Return the folder of a checkpoint, and download it first if it is named by its Hugging Face id. A download goes
    into the Hugging Face cache; a file that lies there isn't fetched again. Without a network, or with HF_HUB_OFFLINE,
    the cache is what counts."""
    path = Path(name)
    if path.is_dir():
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
    """Refuse a folder whose weights are pickles alone."""
    pickles = sorted(path.name for path in folder.glob("*.bin"))
    if pickles and not any((folder / name).is_file() for name in (CHECKPOINT_WEIGHTS, INDEX_FILE)):
        raise CheckpointError(
            f"{folder / pickles[0]} is a pickle, which can run any code when it is read; convert it: "
            f"safetensors.torch.save_file(torch.load('{pickles[0]}', weights_only=True), '{CHECKPOINT_WEIGHTS}')"
        )


def _licence(folder: Path) -> str:
    card = folder / _README
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    named = _LICENCE.search(text.split("\n---", 1)[0]) if text.startswith("---") else None
    return named[1] if named else "not named by its model card; ask its authors"


def _refuse_other_kinds(folder: Path) -> None:
    if (folder / CHECKPOINT_CONFIG).is_file():
        return
    kinds = {
        client_files(folder) / SPEC_FILE: "is an exported model repository; name what it was made of",
        folder / "snapshots": "is a model's folder in the Hugging Face cache; name the model as OWNER/NAME",
        folder / "adapter_config.json": "holds an adapter; merge it into its model first",
        folder / "state.pt": "is a training's work folder; name the folder beside it with config.json",
    }
    for file, what in kinds.items():
        if file.exists():
            raise CheckpointError(f"{folder} {what}")


_POINTER = b"version https://git-lfs"
_NAMED = 6  # how many tensors an error names before it counts the rest


def save_checkpoint(model: LamrModel, folder: str | Path, tokenizer_file: str | Path) -> None:
    """Write a model into a folder, as float32. Files of an earlier checkpoint in the folder are replaced.

    A line model that lies beside the tokenizer is copied with it.

    Nothing is replaced before all is written, and the configuration is put there last, so a folder that was only half
    replaced can't be loaded. Raises `CheckpointError`: there is no tokenizer file to copy, or the folder can't be
    written."""
    folder, source = Path(folder), Path(tokenizer_file)
    if not source.is_file():
        raise CheckpointError(f"{source} is missing; a checkpoint needs the tokenizer it was trained with")
    tensors = {name: value.detach().float().cpu().contiguous() for name, value in model.state_dict().items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(folder / CHECKPOINT_CONFIG) as config, replaced(folder / CHECKPOINT_WEIGHTS) as weights:
            save_file(tensors, weights, metadata={"format": "pt"})
            config.write_text(model.config.to_json(), encoding="utf-8")
            copy_client_files(source, folder)
            (folder / CHECKPOINT_CONFIG).unlink(missing_ok=True)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder}: the checkpoint can't be written ({error})") from error


def load_checkpoint(folder: str | Path) -> LamrModel:
    """Read a LaMR or SWE-Pruner folder.

    Returns the model with float32 weights on the CPU, in eval mode. Raises `CheckpointError`: a file is missing or
    damaged, `model_type` is unknown, or tensors are missing, unexpected, of another shape, or not finite; the message
    names them."""
    folder = Path(folder)
    raw = _read_config(folder / CHECKPOINT_CONFIG)
    kind = raw.get("model_type")
    if kind not in (MODEL_TYPE, swepruner.MODEL_TYPE):
        raise CheckpointError(
            f"{folder / CHECKPOINT_CONFIG}: model_type {kind!r} is unknown; known are {MODEL_TYPE!r} and "
            f"{swepruner.MODEL_TYPE!r} (a bare backbone is something to train from, not a checkpoint)"
        )
    tokenizer = tokenizer_path(folder)
    tensors = _read_weights(folder)
    if kind == MODEL_TYPE:
        config = LamrConfig.from_json(json.dumps(raw), str(folder / CHECKPOINT_CONFIG))
    else:
        config = swepruner.read_config(raw, tensors, tokenizer)
        tensors = swepruner.rename_tensors(tensors, config)
    with no_init_weights():
        model = LamrModel(config)
    _fill(model, tensors, folder / CHECKPOINT_WEIGHTS)
    return model.eval()


def tokenizer_path(folder: str | Path) -> Path:
    path = Path(folder) / TOKENIZER_FILE
    if not path.is_file():
        raise CheckpointError(f"{path} is missing; copy the tokenizer that the model was trained with there")
    return path


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(
            f"{path} can't be read ({error.strerror}); name a checkpoint's folder"
        ) from error
    except ValueError as error:
        raise CheckpointError(f"{path}: not JSON ({error})") from error
    if not isinstance(config, dict):
        raise CheckpointError(f"{path}: not a configuration")
    return config


def _read_weights(folder: Path) -> dict[str, Tensor]:
    weights, index = folder / CHECKPOINT_WEIGHTS, folder / INDEX_FILE
    if weights.is_file() or not index.is_file():
        refuse_pickles(folder)
        return _read_tensors(weights)
    try:
        shard_of: dict[str, str] = dict(json.loads(index.read_text(encoding="utf-8"))["weight_map"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{index} is not an index of safetensors files ({error})") from error
    shards = sorted(set(shard_of.values()))
    if strange := [shard for shard in shards if Path(shard).name != shard]:
        raise CheckpointError(f"{index} names {strange[0]}, which is outside its folder")
    tensors = {name: value for shard in shards for name, value in _read_tensors(folder / shard).items()}
    if missing := sorted(shard_of.keys() - tensors):
        raise CheckpointError(f"{folder / shard_of[missing[0]]}: missing tensors: {_some(missing)}")
    return tensors


def _read_tensors(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise CheckpointError(f"{path} is missing")
    with path.open("rb") as file:
        if file.read(len(_POINTER)) == _POINTER:
            raise CheckpointError(
                f"{path} is a pointer to large-file storage; run `git lfs pull` in its folder"
            )
    try:
        tensors: dict[str, Tensor] = load_file(path)
    except (SafetensorError, ValueError, OSError) as error:
        raise CheckpointError(f"{path} is truncated or not a safetensors file ({error})") from error
    for name, value in tensors.items():
        if not value.is_floating_point():
            raise CheckpointError(f"{path}: {name} has type {value.dtype}; weights must be floats")
        if not bool(value.isfinite().all()):
            raise CheckpointError(
                f"{path}: {name} holds NaN or infinity; the training that wrote it diverged"
            )
    return {name: value.float() for name, value in tensors.items()}


def _fill(model: LamrModel, tensors: Mapping[str, Tensor], source: Path) -> None:
    parameters = model.state_dict()
    for problem, names in (
        ("missing", parameters.keys() - tensors),
        ("unexpected", tensors.keys() - parameters.keys()),
    ):
        if names:
            raise CheckpointError(f"{source}: {problem} tensors: {_some(sorted(names))}")
    for name, value in tensors.items():
        if value.shape != parameters[name].shape:
            raise CheckpointError(
                f"{source}: {name} has shape {list(value.shape)}, but the configuration asks for "
                f"{list(parameters[name].shape)}"
            )
    with torch.no_grad():
        for name, value in parameters.items():
            value.copy_(tensors[name])


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def copy_client_files(tokenizer: Path, folder: Path) -> None:
    """Copy a tokenizer, and the weights of the scoring beside it, into a folder; files that are there already stay.
    Raises `OSError`: a file can't be copied."""
    for source, name in ((tokenizer, TOKENIZER_FILE), (tokenizer.with_name(SCORING_FILE), SCORING_FILE)):
        target = folder / name
        if source.is_file() and source.resolve() != target.resolve():
            with replaced(target) as part:
                shutil.copyfile(source, part)
