"""Files whose needed lines have a word that the query lacks, as the line model learns from them."""

import numpy as np
from lamr_evaluation.records import Record
from lamr_model.encoding import PromptEncoder
from lamr_model.scoring.query_document import QueryDocument
from lamr_training.fits.line_examples import LineExample, asked_without_tokens, line_example

from tests.tiny import BERT_PROMPT, make_spec, wordpiece

QUERY = "Mind the deadline"
LINES = ["timeout = 3", "colour = 3", "shape = area(3)", "", "    name = colour", "return shape"]
WORDS = ("colour", "shape", "timeout", "deadlin", "area", "name", "mind")
VOCABULARY = {word: number for number, word in enumerate(WORDS)}


def records(count: int, gold: str = "timeout") -> list[Record]:
    """Files of shuffled lines, of which those with a word are gold that the query hasn't."""
    rng = np.random.default_rng(3)
    found = []
    for number in range(count):
        lines = [LINES[place] for place in rng.integers(len(LINES), size=30)] + LINES
        numbers = tuple(place for place, line in enumerate(lines, 1) if gold in line)
        found.append(Record(QUERY, "\n".join(lines), numbers, project=f"p{number}"))
    return found


def asked(record: Record) -> QueryDocument:
    """A record as the line model learns from it."""
    words = wordpiece()
    return asked_without_tokens(PromptEncoder(words, make_spec(words, BERT_PROMPT)), record)


def example(record: Record, words: tuple[str, ...] = WORDS) -> LineExample:
    """What is learned from a record with these words."""
    return line_example(asked(record), record, {word: number for number, word in enumerate(words)})
