"""Scorings are fitted on the very line scores that a client computes, bit for bit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from lamr_client import MockTransport
from lamr_client.job import PruneJob
from lamr_client.prune_options import PruneOptions
from lamr_contract.encoding import PromptEncoder
from lamr_contract.model_io import ChunkRequest
from lamr_contract.scoring import Scoring
from lamr_evaluation.records import Record
from lamr_training.recipes.scoring_fit import compare, score_files

from tests.client.fakes import answer
from tests.tiny import BERT_PROMPT, indenting, make_spec, program, wordpiece

QUERY = "which function computes the area of a shape?"
WEIGHTS = {"keep_prob": 0.25, "semantic": 1.0, "dependency": 0.5, "relevance": 1.5}
TEXT = {"lexical": 2.0, "block": 0.6}
SCORINGS = {
    "paper": Scoring(),
    "paper, text": Scoring("paper", TEXT),
    "calibrated, text": Scoring("calibrated", WEIGHTS | TEXT, bias=0.5),
    "relative": Scoring("relative", WEIGHTS, bias=-0.5),
    "relative, text": Scoring("relative", WEIGHTS | TEXT, bias=-0.5),
}


def served(encoder: PromptEncoder, code: str) -> tuple[float, ...]:
    """Line scores of a prune job whose answers arrive in any order."""
    job = PruneJob(encoder, QUERY, code, PruneOptions(path="shapes.py"))
    chunks = list(job.chunks)
    assert len(chunks) > 3
    random.Random(0).shuffle(chunks)
    for chunk in chunks:
        job.add(chunk.tokens, answer(ChunkRequest(chunk.input_ids, chunk.document_span, job.want_rubrics)))
    return job.finish().line_scores


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)
@pytest.mark.parametrize("tokenizer", [wordpiece, indenting])
def test_fitted_line_scores_are_the_served_ones(tokenizer, scoring: Scoring, end: str) -> None:
    words = tokenizer()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT, scoring=scoring))
    code = program(30, end) + f"{end}\t{end}shape = area{end}{end}"
    [file] = score_files(MockTransport(answer).infer_many, encoder, [Record(QUERY, code, (1,))])
    fitted = file.line_scores(scoring, encoder.spec.rubrics)
    assert tuple(fitted.tolist()) == served(encoder, code)
    assert len(np.unique(fitted)) > 10


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_gold_lines_are_lines_of_the_scores(end: str) -> None:
    words = wordpiece()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT))
    code = end.join(["area = 1", "", "name = 2", "\x0c", "shape = 3", ""])
    [file] = score_files(MockTransport(answer).infer_many, encoder, [Record(QUERY, code, (1, 5))])
    gold, inked = file.gold()
    assert gold.tolist() == [True, False, False, False, True]
    assert inked.tolist() == [True, False, True, False, True]
    assert 0 <= compare([file], Scoring(), encoder.spec.rubrics, 0.5).area <= 1
