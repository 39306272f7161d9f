"""Scorings are fitted on the very line scores that a client computes, and keep the share that is asked for."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from lamr_client import MockTransport
from lamr_client.job import PruneJob
from lamr_client.prune_options import PruneOptions
from lamr_contract.encoding import PromptEncoder
from lamr_contract.local_model import LocalModel
from lamr_contract.model_io import ChunkRequest
from lamr_contract.scoring.rules import Scoring
from lamr_evaluation.records import Record
from lamr_export import export_repository, save_checkpoint
from lamr_export.verify import standard_texts
from lamr_training.model.vocabulary import Vocabulary
from lamr_training.recipes.scoring_fit import START, compare, fit_scoring, score_files, selection

from tests.client.answers import answer
from tests.tiny import BERT_PROMPT, indenting, make_spec, program, wordpiece
from tests.training.samples import encoder as encoder_of
from tests.training.samples import tiny_model

QUERY = "which function computes the area of a shape?"
WEIGHTS = {"keep_prob": 0.25, "semantic": 1.0, "dependency": 0.5, "relevance": 1.5}
TEXT = {"lexical": 2.0, "block": 0.6}
SCORINGS = {
    "paper": Scoring(),
    "paper, text": Scoring("paper", TEXT),
    "calibrated, text": Scoring("calibrated", WEIGHTS | TEXT, bias=0.5),
    "relative": Scoring("relative", WEIGHTS, bias=-0.5),
    "relative, text": Scoring("relative", WEIGHTS | TEXT, bias=-0.5),
    "lines": Scoring("lines", WEIGHTS | {"own": 2.0, "comment": -1.0, "block.semantic": 0.5}),
    "lines, levelled": Scoring(
        "lines", {"block.keep_prob": 1.0, "own": 0.5, "block": 0.3, "near": 0.7}, -0.5
    ),
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


def test_a_fitted_scoring_keeps_the_share_it_is_asked_for(
    tmp_path: Path, words: Vocabulary, records: list[Record]
) -> None:
    model = tiny_model(words).eval()
    words.tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_checkpoint(model, tmp_path / "checkpoint", tmp_path / "tokenizer.json")
    export_repository(tmp_path / "checkpoint", tmp_path / "repository", texts=standard_texts()[:1])
    ask = LocalModel(tmp_path / "repository").infer_many
    files = score_files(ask, encoder_of(words, model), records[:12])
    rubrics = model.config.rubrics
    scoring = fit_scoring(files, rubrics, kept=0.3)
    assert scoring.kind == "relative"
    assert selection(files, scoring, rubrics, 0.4)[1] == pytest.approx(0.3, abs=0.08)
    assert compare(files, scoring, rubrics, 0.4).kept <= 0.38, "repair only adds"
    assert 0 <= compare(files, Scoring(), rubrics, 0.4).area <= 1
    fitted, before = compare(files, scoring, rubrics, 0.4), compare(files, START, rubrics, 0.4)
    assert fitted.area + fitted.recall_25 >= before.area + before.recall_25 - 0.01
    longer = Record("why " * 400, records[0].code, (1,))
    assert len(score_files(ask, encoder_of(words, model), [longer])) == 1, "a long query is read in part"
