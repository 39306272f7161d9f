"""Tiny causal models in folders, each written and loaded once, and one of them on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_export import TorchScorer, export_causal
from lamr_serving import ServerOptions, TritonServer

from .causal_models import write_causal


@pytest.fixture(scope="session")
def causal_folder(tmp_path_factory):
    """A function from a model's kind to its folder."""
    made: dict[str, Path] = {}

    def get(kind: str) -> Path:
        if kind not in made:
            made[kind] = write_causal(kind, tmp_path_factory.mktemp("causal") / kind)
        return made[kind]

    return get


@pytest.fixture(scope="session")
def causal_scorer(causal_folder):
    """A function from a model's kind to its scorer."""
    made: dict[str, TorchScorer] = {}

    def get(kind: str) -> TorchScorer:
        if kind not in made:
            made[kind] = TorchScorer(causal_folder(kind))
        return made[kind]

    return get


@pytest.fixture(scope="session")
def causal_repository(causal_folder, tmp_path_factory) -> Path:
    """The Llama, whose tokenizer begins each text with a token, as a model repository."""
    root = tmp_path_factory.mktemp("exported") / "repository"
    export_causal(causal_folder("llama"), root)
    return root


@pytest.fixture(scope="session")
def causal_server(causal_repository) -> Iterator[TritonServer]:
    with TritonServer(causal_repository, ServerOptions(restart=True)) as running:
        yield running
