"""Retrieval by embeddings over a repository: functions and windows in the order of their cosines, within a budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from lamr_client import MockTransport, Pruner
from lamr_evaluation.repositories import METHODS, cosine_methods, evaluate_repositories
from lamr_evaluation.repositories.baselines import STRIDE, WINDOW, Corpus
from lamr_repositories import PackOptions
from lamr_repositories.file_index import index_file
from numpy.typing import NDArray

from tests.evaluation.test_repositories import CLOSE, count_each, item, words
from tests.repositories.conftest import FILES, QUERY, folder, repository

__all__ = ["folder", "repository"]
TOPICS = ("close", "retry", "colour", "test")


class Topics:
    """An encoder whose vectors count a few words; it remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([[text.lower().count(topic) for topic in TOPICS] for text in texts], np.float32)


def corpus(query: str = QUERY) -> Corpus:
    kind = {"py": "python", "go": "go", "ts": "typescript", "md": "markdown"}
    texts = {path: text for path, text in FILES.items() if text.strip() and "\0" not in text}
    indexes = {
        path: index_file(text, kind.get(path.rsplit(".", 1)[-1], "text")) for path, text in texts.items()
    }
    return Corpus(query, indexes, texts.__getitem__, count_each)


@pytest.mark.parametrize("name", cosine_methods(Topics()))
def test_what_is_like_the_query_is_shown_within_the_budget(name: str) -> None:
    method = cosine_methods(Topics())[name]
    files = corpus("close close")
    for budget in (0, 60, 250, 100_000):
        shown = method(files, budget)
        lines = [
            files.read(path).splitlines(keepends=True)[row - 1]
            for path, rows in shown.items()
            for row in rows
        ]
        assert sum(map(words, lines)) <= budget
    assert CLOSE in method(files, 250)["src/pool.py"]


def test_windows_overlap_and_cost_each_line_once() -> None:
    long = "\n".join(f"line {n} close" for n in range(200)) + "\n"
    files = Corpus("close", {"a.py": index_file(long, "python")}, lambda _: long, count_each)
    encoder = Topics()
    shown = cosine_methods(encoder)["cosine windows"](files, 10_000)
    assert shown == {"a.py": set(range(1, 201))}
    assert encoder.asked[1].count("\n") == WINDOW
    assert encoder.asked[2].startswith(f"line {STRIDE} ")
    whole = words("a.py") + sum(words(line) for line in long.splitlines())
    assert cosine_methods(encoder)["cosine windows"](files, whole) == shown
    assert cosine_methods(encoder)["cosine windows"](files, whole - 1) != shown


def test_a_text_is_encoded_once() -> None:
    encoder = Topics()
    methods = cosine_methods(encoder)
    for budget in (100, 400):
        methods["cosine functions"](corpus(), budget)
        methods["cosine functions, sources only"](corpus(), budget)
    assert len(encoder.asked) == len(set(encoder.asked))
    assert any("class Pool" in text for text in encoder.asked)


def test_no_files_show_nothing() -> None:
    empty = Corpus(QUERY, {}, "".join, count_each)
    assert not any(method(empty, 1000) for method in cosine_methods(Topics()).values())


def test_a_report_has_them_and_packs_by_perplexity(repository, tmp_path_factory) -> None:
    from lamr_export import TorchScorer

    from tests.repositories.compression.causal_models import write_causal

    scorer = TorchScorer(write_causal("qwen2", tmp_path_factory.mktemp("causal") / "coder"))
    methods = {**METHODS, **cosine_methods(Topics())}
    with Pruner(transport=MockTransport()) as pruner:
        report = evaluate_repositories(
            [item(repository)],
            lambda _: repository / ".git",
            pruner,
            budgets=(400, 16_000),
            options=PackOptions(most_chunks=8),
            methods=methods,
            scorer=scorer,
        )
    packs = {"pack", "pack --ranker bm25", "pack --ranker relevance", "pack --ranker perplexity"}
    assert set(report.methods) == {*packs, *methods}
    assert report.over_budget == 0
    assert report.mean("cosine functions", 16_000, among=lambda each: each.id == "1") == 1.0
    assert report.mean("pack --ranker perplexity", 16_000, among=lambda each: each.id == "1") == 1.0
