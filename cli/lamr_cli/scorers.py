"""Which causal language model a command asks: a text names it. The module runs none."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from lamr_cli.arguments import credentials
from lamr_cli.exits import needs_extra
from lamr_cli.printing import say

if TYPE_CHECKING:
    from lamr_model.perplexity.causal_scorer import CausalScorer

MODEL_HELP = (
    "The causal language model: a folder of transformers, a .gguf file, OWNER/NAME on the Hugging Face Hub, HOST:PORT "
    "of a server of what `lamr export --perplexity` wrote, or http://HOST/v1 of vLLM, SGLang or llama.cpp."
)
Perplexity = Annotated[
    str, typer.Option("--model", "--perplexity", help=MODEL_HELP, envvar="LAMR_PERPLEXITY", metavar="MODEL")
]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def scorer_of(named: str, *, bfloat16: bool = False) -> contextlib.AbstractContextManager[CausalScorer]:
    """Return the scorer that a text names; leaving it lets go of the model.

    Args:
        named: see `MODEL_HELP`.
        bfloat16: whether PyTorch runs a folder or a file, and multiplies in bfloat16.

    Raises:
        typer.BadParameter: the text names nothing of these, or several.
        CheckpointError, ModelMismatchError, ServerError, MissingPackageError: see the scorers.
    """
    from lamr_model.perplexity.causal_spec import causal_files

    path = Path(named)
    if causal_files(path).is_dir():
        raise typer.BadParameter(f"{named} is for a server; run `lamr serve {named}` and name its HOST:PORT")
    if path.is_dir():
        return _in_torch(str(_only_gguf(path) or named), bfloat16)
    if path.suffix == ".gguf":
        if not path.is_file():
            raise typer.BadParameter(f"there is no file {path}")
        return _in_torch(named, bfloat16)
    if path.is_file():
        raise typer.BadParameter(f"{named} is a file, but no .gguf file; name the folder of its config.json")
    if urlsplit(named).scheme in ("http", "https") and urlsplit(named).path.strip("/"):
        from lamr_client import EndpointScorer

        return EndpointScorer(named, api_key=credentials(named).get("api_key"))
    if _HUB_ID.fullmatch(named) and not path.parent.is_dir():
        return _in_torch(named, bfloat16)
    return _served(named)


def _served(named: str) -> contextlib.AbstractContextManager[CausalScorer]:
    from lamr_client import InvalidInputError, TritonScorer, parse_connection

    try:
        connection = parse_connection(named, **credentials(named))
    except InvalidInputError as error:
        raise typer.BadParameter(
            f"there is no folder or file {named}, and {error}; an endpoint's address ends with /v1"
        ) from error
    return TritonScorer(connection)


def _only_gguf(folder: Path) -> Path | None:
    """The folder's GGUF file, where that is its model; of a model in parts, the first one."""
    if (folder / "config.json").is_file():
        return None
    files = [
        file
        for file in sorted(folder.glob("*.gguf"))
        if not re.search(r"-\d{5}-of-\d{5}$", file.stem) or "-00001-of-" in file.stem
    ]
    if len(files) > 1:
        names = ", ".join(file.name for file in files[:5])
        raise typer.BadParameter(f"{folder} holds several GGUF files; name one of them: {names}")
    return files[0] if files else None


def _in_torch(named: str, bfloat16: bool) -> contextlib.AbstractContextManager[CausalScorer]:
    with needs_extra("export"):
        from lamr_export import TorchScorer
        from transformers.utils.logging import disable_progress_bar

        # Its bars for loaded weights heed neither --quiet nor a missing terminal.
        disable_progress_bar()  # type: ignore[no-untyped-call]

    def told(line: str) -> None:
        if not line.startswith("reading") or named.endswith(".gguf"):
            say(f"lamr: {line}", err=True)

    return contextlib.nullcontext(TorchScorer(named, bfloat16=bfloat16, progress=told))
