"""Which causal language model or sentence encoder a command asks, by what options name. The module runs none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lamr_cli.credentials import credentials
from lamr_cli.extras import needs_extra

if TYPE_CHECKING:
    from lamr_contract.perplexity.causal_scorer import CausalScorer
    from lamr_training.model.cosine import Embedder

PERPLEXITY_HELP = (
    "The causal language model: HOST:PORT (or https://HOST) of a server of what `lamr export --perplexity` wrote; or "
    "the folder of that, or of any Hugging Face model (needs torch), which runs in process."
)
_OPTION = typer.Option(help=PERPLEXITY_HELP, envvar="LAMR_PERPLEXITY", metavar="HOST:PORT|CHECKPOINT")
Perplexity = Annotated[str, _OPTION]
OfPerplexity = Annotated[str | None, _OPTION]


@contextlib.contextmanager
def scorer_of(named: str) -> Iterator[CausalScorer]:
    """Give the scorer that `--perplexity` names, and let go of it at the end.

    Raises:
        typer.BadParameter: the text names neither a folder nor a server.
        CheckpointError, ModelMismatchError, ServerError: see `TorchScorer`, `LocalScorer` and `TritonScorer`.
    """
    from lamr_contract.perplexity.causal_spec import causal_files

    if causal_files(Path(named)).is_dir():
        from lamr_client import LocalScorer

        yield LocalScorer(named)
        return
    if Path(named).is_dir():
        with needs_extra("export"):
            from lamr_export import TorchScorer
            from transformers.utils.logging import disable_progress_bar

            # Its bar for loaded weights heeds neither --quiet nor a missing terminal.
            disable_progress_bar()  # type: ignore[no-untyped-call]
        yield TorchScorer(named)
        return
    from lamr_client import InvalidInputError, TritonScorer, parse_connection

    try:
        connection = parse_connection(named, **credentials(named))
    except InvalidInputError as error:
        raise typer.BadParameter(
            f"there is no folder {named}, and {error}", param_hint="--perplexity"
        ) from error
    with TritonScorer(connection) as scorer:
        yield scorer


def embedder(folder: Path | None) -> Embedder:
    """Return what turns texts into vectors: the sentence encoder of a folder, or MiniLM-L6 as published."""
    with needs_extra("train"):
        from lamr_training.model.cosine import folder_embedder, minilm_embedder
    return minilm_embedder() if folder is None else folder_embedder(folder)
