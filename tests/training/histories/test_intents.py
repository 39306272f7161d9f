"""What is said before a file is read, from the subject of a commit."""

from __future__ import annotations

import random

import pytest
from lamr_training.histories.intents import intent


@pytest.mark.parametrize(
    ("subject", "words", "never"),
    [
        ("Fix crash on empty header lines", "crash on empty header lines", "Fix"),
        ("Added support for trailing commas", "support for trailing commas", "Added"),
        ("Replaces the loop by a table", "replace the loop by a table", "Replaces"),
        ("JSON keys keep their order", "JSON keys keep their order", "jSON"),
    ],
)
def test_the_subject_is_part_of_a_sentence(subject: str, words: str, never: str) -> None:
    said = {intent(subject, "src/header_parser.py", [], random.Random(n)) for n in range(60)}
    assert len(said) >= 4
    assert any(words in sentence for sentence in said)
    assert not any(never in sentence.replace(subject, "") for sentence in said)
    assert not any("{" in sentence for sentence in said)


def test_a_function_around_the_change_is_sometimes_named() -> None:
    lines = ["class Parser:", "    def parse_header(self, text):"]
    said = [intent("Fix crash on empty lines", "src/p.py", lines, random.Random(n)) for n in range(80)]
    assert 0 < sum("`parse_header`" in sentence for sentence in said) < 30
