"""A fitted presence tells files that hold an answer from files that don't, with and without their paths."""

import numpy as np
from lamr_client import MockTransport
from lamr_evaluation.records import Record
from lamr_model.encoding import PromptEncoder
from lamr_model.rules import FEATURES, TOGETHER, AnswerPrior
from lamr_model.scoring.scorer import Scorer
from lamr_training.fits.scoring import LEAST, ScoredFile, fit_presence, score_files

from tests.client.answers import answer
from tests.tiny import BERT_PROMPT, line_weights, lines_scoring, make_spec, wordpiece

QUERY = "Fix the area of a circle"
RUBRICS = ("semantic", "dependency")
LINES = line_weights(("area", "circl", "fix"), own=1.0)
OTHER = ["name = shape(3)", "return name", "# area", "value = 1"]


def files(count: int, present: bool) -> list[ScoredFile]:
    """Files of statements; where the answer is present, one of them has the query's words."""
    words = wordpiece()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT))
    rng = np.random.default_rng(int(present))
    records = []
    for _ in range(count):
        code = [OTHER[number] for number in rng.integers(len(OTHER), size=20)]
        code[7] = "area = circle(3)" if present else code[7]
        path = "circle.py" if present else "shape.py"
        records.append(
            Record(QUERY, "\n".join(code), (8,) if present else (), path=path, score=float(present))
        )
    return score_files(MockTransport(answer).infer_many, encoder, records)


def relevances(scored: list[ScoredFile], presence: AnswerPrior) -> list[float]:
    scorer = Scorer(lines_scoring(unread_presence=presence), RUBRICS, LINES)
    return [file.unread(scorer).finish().relevance for file in scored]


def test_files_with_an_answer_are_told_from_others() -> None:
    presence = fit_presence([*files(LEAST, True), *files(LEAST, False)], LINES.model, read=False)
    assert presence is not None
    assert presence.weights[TOGETHER] > 0
    assert set(presence.weights) == set(FEATURES)
    with_answer, without = relevances(files(8, True), presence), relevances(files(8, False), presence)
    assert min(with_answer) > 0.5 > max(without)
    assert presence.raised(0.4, min(with_answer)) < 0.5 < presence.raised(0.4, min(without))


def test_too_few_files_teach_nothing() -> None:
    assert fit_presence([*files(LEAST, True), *files(LEAST - 1, False)], LINES.model, read=False) is None
