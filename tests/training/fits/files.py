"""Files whose lines a query tells apart, as a mock of a model has read them."""

import numpy as np
from lamr_client import MockTransport
from lamr_evaluation.records import Record
from lamr_model.encoding import PromptEncoder
from lamr_training.fits.scoring import ScoredFile, score_files

from tests.client.answers import answer
from tests.tiny import BERT_PROMPT, make_spec, wordpiece

QUERY = "Fix the area of a circle"
RUBRICS = ("semantic", "dependency")


def files(count: int, gold: str, query: str = QUERY) -> list[ScoredFile]:
    """Files of comments and statements, some about what the query names; gold are the lines that hold a word."""
    words = wordpiece()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT))
    rng = np.random.default_rng(7)
    lines = ["# area of a circle", "area = circle(3)", "# name of a shape", "name = shape(3)", "", "return 1"]
    records = []
    for _ in range(count):
        code = [lines[number] for number in rng.integers(len(lines), size=40)] + lines
        records.append(Record(query, "\n".join(code), tuple(n for n, x in enumerate(code, 1) if gold in x)))
    return score_files(MockTransport(answer).infer_many, encoder, records)
