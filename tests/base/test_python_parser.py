"""Threads that load models and parse Python at once: CPython 3.11 lets two of them disturb each other in its parser."""

import ast
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from lamr_model.crf import DecoderWeights
from lamr_model.names import DECODER, SCORING_FILE, WEIGHTS_FILE, version_folder
from lamr_model.scoring.weights import load_weights
from lamr_model.spec import bundled_repository, client_files
from lamr_postprocess.languages import language_named


@pytest.fixture
def most_at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many threads were in the parser together, at each call."""
    inside, counts, lock = [0], [], threading.Lock()
    original = ast.parse

    def watched(*given, **more):
        with lock:
            inside[0] += 1
            counts.append(inside[0])
        try:
            threading.Event().wait(0.002)  # lets the others come in
            return original(*given, **more)
        finally:
            with lock:
                inside[0] -= 1

    monkeypatch.setattr(ast, "parse", watched)
    return counts


def test_one_thread_is_in_the_parser_at_a_time(most_at_once: list[int]) -> None:
    repository = bundled_repository()
    python = language_named("python")
    assert python is not None
    assert python.parses is not None
    work = [
        lambda: load_weights(client_files(repository) / SCORING_FILE),
        lambda: DecoderWeights.load(version_folder(repository, DECODER) / WEIGHTS_FILE),
        lambda: python.parses("def f():\n    return 1\n"),
    ]
    with ThreadPoolExecutor(6) as pool:
        for each in [pool.submit(work[number % 3]) for number in range(12)]:
            each.result()
    assert most_at_once
    assert max(most_at_once) == 1
