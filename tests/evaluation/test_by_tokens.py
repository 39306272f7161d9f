"""What budgets of tokens buy: needed lines and whole answers, beside baselines, and what tokens are spent on."""

import json

import pytest
from lamr_client import Pruner
from lamr_evaluation import Record, RecordError
from lamr_evaluation.by_tokens import BUDGETS, OWN_FUNCTIONS, PRUNER, evaluate_by_tokens
from lamr_model.counters import token_counter
from lamr_postprocess import split_lines

CODE = "import os\n\n\n" + "".join(
    f'def colour_{n}(name):\n    """Mix a colour."""\n    first = name * {n}\n    return os.fsencode(first)\n\n\n'
    for n in range(120)
)
START = split_lines(CODE).index("def colour_40(name):\n") + 1
ITEM = Record("what does colour_40 return?", CODE, tuple(range(START, START + 4)), path="a.py")


@pytest.fixture(scope="module")
def pruner() -> Pruner:
    return Pruner()


def test_whole_answers_and_what_they_cost(pruner: Pruner) -> None:
    counter = token_counter(None, pruner.encoder)
    nothing = Record("what is it?", CODE, (), path="a.py")
    missed = Record("what does colour_40 return?", CODE, (*ITEM.kept_frags, START + 300), path="a.py")
    report = evaluate_by_tokens([ITEM, nothing, missed], pruner, counter, options={"effort": "instant"})
    assert len(report.results) == 2
    assert [report.mean(PRUNER, budget, "whole") for budget in BUDGETS[:2]] == [0.5, 0.5]
    assert report.mean(PRUNER, 800, "recall") == pytest.approx(0.9)
    for method in report.methods:
        for budget in BUDGETS:
            assert (0.9 if method == PRUNER else 0.6) < report.mean(method, budget, "used") <= 1
    assert report.mean(OWN_FUNCTIONS, 800, "whole") == 0.5
    spent = report.spent(800)
    assert sum(spent.values()) == pytest.approx(1)
    assert 0 < spent["markers"] < 0.3 < spent["selected"]
    assert "2 items, 1 files" in report.table()
    assert json.loads(report.to_json())["means"][PRUNER]["800"]["whole"] == 0.5


def test_a_file_that_fits_is_whole_by_any_method(pruner: Pruner) -> None:
    short = Record("what?", "a = 1\nb = 2\n", (1,), path="a.py")
    report = evaluate_by_tokens(
        [short], pruner, token_counter(None, pruner.encoder), options={"effort": "instant"}
    )
    assert {report.mean(method, 800, "whole") for method in report.methods} == {1.0}
    with pytest.raises(RecordError, match="no items with needed lines"):
        evaluate_by_tokens([Record("what?", "a = 1\n", ())], pruner, token_counter(None, pruner.encoder))
