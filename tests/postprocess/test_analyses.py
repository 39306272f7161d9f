"""A text that was analysed before gives the same result without another parse."""

from __future__ import annotations

import numpy as np
from lamr_postprocess import language_named, prune_lines
from lamr_postprocess.analyses import Analyses

from benchmarks.sources import library_module

CODE = library_module("queue.py")


def scores(code: str, seed: int):
    return np.random.default_rng(seed).random(code.count("\n"))


def kept(analyses: Analyses) -> list[str]:
    return [text for text, *_ in analyses._kept]


def test_another_question_about_a_text_gives_what_a_new_one_would(monkeypatch):
    analyses, options = Analyses(), {"path": "queue.py", "threshold": 0.7}
    prune_lines(CODE, scores(CODE, 0), analyses=analyses, **options)
    expected = [prune_lines(CODE, scores(CODE, seed), **options) for seed in range(4)]
    monkeypatch.setattr("lamr_postprocess.document.parse_mended", None)
    assert [
        prune_lines(CODE, scores(CODE, seed), analyses=analyses, **options) for seed in range(4)
    ] == expected


def test_what_changes_the_rules_is_analysed_anew():
    analyses = Analyses()
    for options in ({}, {"repair": False}, {"min_cut": 0}, {"language": "text"}, {"markers": "named"}):
        arguments = {"path": "queue.py", "threshold": 0.7, **options}
        new = prune_lines(CODE, scores(CODE, 0), **arguments)
        assert prune_lines(CODE, scores(CODE, 0), analyses=analyses, **arguments) == new
    assert len(analyses._kept) == 4  # named markers count tokens in the caller's way


def test_the_oldest_texts_go_first_and_long_ones_are_not_kept():
    analyses, python = Analyses(most_chars=30), language_named("python")
    options = {"listing": None, "repair": True, "least_cut": 0}
    for text in ("first = 1\n", "second = 2\n"):
        analyses.document(text, python, **options)
    first = analyses.document("first = 1\n", python, **options)
    analyses.document("third = 3\n", python, **options)
    assert kept(analyses) == ["first = 1\n", "third = 3\n"]
    assert analyses.document("first = 1\n", python, **options) is first
    analyses.document("# a line that is longer than all\n", python, **options)
    assert kept(analyses) == ["third = 3\n", "first = 1\n"]
