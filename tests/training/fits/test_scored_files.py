"""Scorings are fitted on the very line scores that a client computes, and keep the share that is asked for."""

import random
from itertools import chain

import numpy as np
import pytest
from lamr_client import MockTransport
from lamr_client.job import PruneJob, Shared
from lamr_client.prune_options import CallDefaults, PruneOptions
from lamr_client.reading_plan import Pace
from lamr_evaluation.records import Record
from lamr_model.encoding import PromptEncoder
from lamr_model.model_io import ChunkRequest
from lamr_model.rules import Scoring
from lamr_model.scoring.scorer import Scorer
from lamr_training.fits.scoring import compare, score_files

from tests.client.answers import answer
from tests.tiny import BERT_PROMPT, indenting, line_weights, lines_scoring, make_spec, program, wordpiece

RUBRICS = ("semantic", "dependency")
QUERY = "which function computes the area of a shape?"
SCORERS = {
    "paper": Scorer(Scoring(), RUBRICS),
    "emission": Scorer(Scoring("emission"), RUBRICS),
    "lines": Scorer(
        lines_scoring(bias=-0.5),
        RUBRICS,
        line_weights(keep_prob=0.25, semantic=1.0, dependency=0.5, relevance=1.5, own=2.0, comment=-1.0),
    ),
}


def served(encoder: PromptEncoder, scorer: Scorer, code: str) -> tuple[float, ...]:
    """Line scores of a prune job whose answers arrive in any order."""
    call = CallDefaults(60.0, "raise").begin(None, None)
    options = PruneOptions(path="shapes.py", effort="full")
    job = PruneJob(Shared(encoder, scorer), QUERY, code, options, call)
    reading = job.read()
    chunks = list(chain.from_iterable(reading.groups(Pace(), 8)))
    assert len(chunks) > 3
    random.Random(0).shuffle(chunks)
    for chunk in chunks:
        reading.add(
            chunk.tokens, answer(ChunkRequest(chunk.input_ids, chunk.document_span, job.want_rubrics))
        )
    return reading.finish().line_scores


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
@pytest.mark.parametrize("tokenizer", [wordpiece, indenting])
def test_fitted_line_scores_are_the_served_ones(tokenizer, scorer: Scorer, end: str) -> None:
    words = tokenizer()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT))
    code = program(30, end) + f"{end}\t{end}shape = area{end}{end}"
    [file] = score_files(
        MockTransport(answer).infer_many, encoder, [Record(QUERY, code, (1,), path="shapes.py")]
    )
    fitted = file.line_scores(scorer)
    assert tuple(fitted.tolist()) == served(encoder, scorer, code)
    assert len(np.unique(fitted)) > 10


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_gold_lines_are_lines_of_the_scores(end: str) -> None:
    words = wordpiece()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT))
    code = end.join(["area = 1", "", "name = 2", "\x0c", "shape = 3", ""])
    [file] = score_files(MockTransport(answer).infer_many, encoder, [Record(QUERY, code, (1, 5))])
    gold, inked = file.record.gold, file.record.counted
    assert gold.tolist() == [True, False, False, False, True]
    assert inked.tolist() == [True, False, True, False, True]
    assert 0 <= compare([file], SCORERS["paper"], 0.5).area <= 1


def test_a_long_query_is_read_in_part() -> None:
    words = wordpiece()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT))
    [file] = score_files(MockTransport(answer).infer_many, encoder, [Record("why " * 400, program(3), (1,))])
    assert not file.asked.reading.whole
