"""The cases of the campaign that take a second or two; `make attack` runs all of them."""

from pathlib import Path

import pytest

from tests.attack.campaign import AREAS, cases
from tests.attack.case import Case, outcome
from tests.attack.place import Place


@pytest.mark.parametrize("case", [case for area in AREAS for case in cases(area) if case.quick], ids=str)
def test_it_holds(case: Case, tmp_path: Path) -> None:
    tried = outcome(case, Place(tmp_path))
    assert tried.held, tried.said
