"""Noisy queries are long, hold all words of the short one, and follow from the seed."""

from __future__ import annotations

import random

from lamr_evaluation.records import Record
from lamr_training.fits.noisy_queries import noisy

from tests.tiny import program

RECORD = Record(
    "Retry fails. It should wait {longer}!", program(9), (3,), path="a/net.py", task="Fix the pool"
)
OTHERS = [Record("Colour is wrong", "first\nsecond {0}\n", (1,), path="b/colour.py")]


def made(seed: int) -> Record:
    return noisy(random.Random(seed), RECORD, OTHERS)


def test_they_hold_what_was_asked() -> None:
    whole = 0
    for seed in range(60):
        record = made(seed)
        assert (record.code, record.kept_frags, record.task) == (RECORD.code, RECORD.kept_frags, "")
        whole += all(word in record.query for word in ("Retry", "{longer}", "pool"))
    assert whole == 60
    assert sum(len(made(seed).query) > 3 * len(RECORD.words) for seed in range(60)) > 30
    assert any("b/colour.py" in made(seed).query or "Colour" in made(seed).query for seed in range(60))


def test_they_follow_from_the_seed() -> None:
    assert made(5) == made(5)
    assert len({made(seed).query for seed in range(20)}) > 15


def test_hostile_records_are_no_trouble() -> None:
    for seed in range(40):
        record = noisy(random.Random(seed), Record("{", "", (), path="{}%s"), [])
        assert record.query.strip()
