"""What documentation comments of ten languages say, in one sentence."""

from __future__ import annotations

import pytest
from lamr_training.made.wording import documented, sentence_of, text_of


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("/** Closes all {@link Foo open} files at once. */", "Closes all open files at once"),
        (
            "/**\n * Finds the <code>row</code> of a name.\n * @return the row\n */",
            "Finds the row of a name",
        ),
        (
            '/// <summary>\n/// Writes <see cref="T:Row"/> values to disk.\n/// </summary>\n/// <param/>',
            "Writes Row values to disk",
        ),
        ("// Parse reads one header line.\n//\n// It may fail.", "reads one header line"),
        ("// Parse errors are kept for later.", "Parse errors are kept for later"),
        ("/// Turns a [`Row`] into [text](http://a.b).\n///\n/// # Panics\n/// Never.", ""),
        ("/// Turns a [`Row`] into text, sorted.\n///\n/// # Panics", "Turns a Row into text, sorted"),
        ("# Public: Get all rows of one table.\n#\n# Returns rows.", "Get all rows of one table"),
        ("/*! \\brief Draws one frame of it\n */", "Draws one frame of it"),
        ("// Copyright 2020 The Authors of this file", ""),
        ("/** @see Other */", ""),
        ("/**\n * {@inheritDoc}\n */", ""),
    ],
)
def test_a_documentation_comment_is_one_plain_sentence(comment: str, said: str) -> None:
    assert documented(text_of(comment.split("\n")), "Parse") == said


@pytest.mark.parametrize(
    "text", ["", "one two three", "Ключ хранится в этом файле", "1 2 3 4 5 6", "x y z w v u"]
)
def test_what_is_no_sentence_of_words_says_nothing(text: str) -> None:
    assert sentence_of(text) == ""
