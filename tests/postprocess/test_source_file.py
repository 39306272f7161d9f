"""A text is analysed once, however often it is asked about."""

from __future__ import annotations

import numpy as np
import pytest
from lamr_postprocess import SourceFile, language_named, prune_lines
from lamr_postprocess.document import analyse
from lamr_postprocess.source_file import EXTRA_CHARS, MOST_CHARS, SourceFiles

from benchmarks.sources import library_module

CODE = library_module("queue.py")
LISTED = "".join(f"{number}\t{line}" for number, line in enumerate(CODE.splitlines(keepends=True), 1))


def scores(code: str, seed: int):
    return np.random.default_rng(seed).random(code.count("\n"))


def test_another_question_about_a_text_gives_what_a_new_one_would(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SourceFile(CODE, "queue.py")
    prune_lines(source, scores(CODE, 0), threshold=0.7)
    expected = [prune_lines(CODE, scores(CODE, seed), path="queue.py", threshold=0.7) for seed in range(4)]
    monkeypatch.setattr("lamr_postprocess.document.parse_mended", None)
    assert [prune_lines(source, scores(CODE, seed), threshold=0.7) for seed in range(4)] == expected


@pytest.mark.parametrize("text", [CODE, LISTED])
@pytest.mark.parametrize("options", [{}, {"repair": False}, {"min_cut": 0}, {"markers": "named"}])
def test_what_changes_the_rules_is_analysed_anew(text: str, options: dict[str, object]) -> None:
    source = SourceFile(text, "queue.py")
    for more in ({}, options):
        new = prune_lines(text, scores(text, 0), path="queue.py", threshold=0.7, **more)
        assert prune_lines(source, scores(text, 0), threshold=0.7, **more) == new


def test_an_analysis_is_kept_until_another_is_asked_for() -> None:
    source = SourceFile("a = 1\n", given_language=language_named("python"))
    first = analyse(source)
    assert analyse(source) is first
    assert analyse(source, repair=False) is not first
    assert analyse(source) is not first


def test_a_listing_is_read_without_its_numbers() -> None:
    source = SourceFile(LISTED)
    assert (source.body, source.language.name) == (CODE, "python")
    assert ("".join(source.lines), "".join(source.body_lines)) == (LISTED, CODE)
    own = SourceFile(LISTED, listed=False)
    assert (own.listing, own.body) == (None, LISTED)


def test_the_oldest_texts_go_first_and_long_ones_are_not_kept() -> None:
    files = SourceFiles(most_chars=30 + 2 * EXTRA_CHARS)
    first, second = files.of("first = 1\n"), files.of("second = 2\n")
    assert files.of("first = 1\n") is first
    files.of("third = 3\n")
    assert files.of("first = 1\n") is first
    assert files.of("second = 2\n") is not second
    long = files.of("#" * (31 + EXTRA_CHARS))
    assert files.of(long.text) is not long


def test_small_texts_count_more_than_their_characters() -> None:
    files = SourceFiles()
    first = files.of("first = 1\n")
    for number in range(MOST_CHARS // EXTRA_CHARS):
        files.of(f"x = {number}\n")
    assert files.of("first = 1\n") is not first


def test_one_text_under_another_name_is_another_file() -> None:
    files = SourceFiles()
    python = files.of("a = 1\n", "a.py")
    assert files.of("a = 1\n", "a.rb").language != python.language
    assert files.of("a = 1\n", "a.py", listed=False) is not python
    assert files.of("a = 1\n", "a.py") is python
