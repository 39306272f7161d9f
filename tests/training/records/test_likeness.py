"""Near-copies of evaluation files are found by the runs of tokens that they share."""

from __future__ import annotations

from lamr_training.records.parts import Likeness, shingles

from tests.training.records.repository import FIXED, PARSER
from tests.training.samples import CACHE


def test_a_changed_copy_is_alike_and_another_file_is_not() -> None:
    known = Likeness([PARSER])
    assert known.share(PARSER) == 1.0
    assert known.share(PARSER.replace("    ", "\t")) == 1.0
    assert 0.8 < known.share(FIXED) < 1.0
    assert known.share(CACHE) < 0.1


def test_little_text_is_like_nothing() -> None:
    assert not shingles("a b c").size
    assert Likeness([]).share(PARSER) == 0.0
    assert Likeness(["a b"]).share(PARSER) == 0.0
