"""Every loop over a text looks at the clock."""

from __future__ import annotations

import itertools
import types

import numpy as np
import pytest
from lamr_postprocess import clock, line_spans, prune_lines

LINES = 6_000
TEXTS = {
    "a.py": "def f(a):\n    return a + 1\n\n" * (LINES // 3),
    "a.c": '"\n' * LINES,
    "b.c": "int f(int a)\n{\n    return a;\n}\n" * (LINES // 4),
    "a.yaml": '"\n' * LINES,
    "a.log": "FAILED a.py::test_b - ValueError: c\n" * LINES,
    "a.lua": "local a = function(b) return b end\n" * LINES,
    "a.sql": "CREATE TABLE a (\n  b int\n);\n" * (LINES // 3),
}
texts = pytest.mark.parametrize("name", TEXTS)


def looks(name: str, monkeypatch: pytest.MonkeyPatch, end: float) -> int:
    """How often the clock is looked at before a text is pruned, where each look takes one second."""
    seconds = itertools.count()
    with monkeypatch.context() as counted:
        counted.setattr(clock, "time", types.SimpleNamespace(monotonic=lambda: next(seconds)))
        scores = np.random.default_rng(0).random(len(line_spans(TEXTS[name])))
        with clock.ending_at(end):
            prune_lines(TEXTS[name], scores, path=name)
    return next(seconds)


@texts
def test_the_clock_is_looked_at_all_the_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(name, monkeypatch, np.inf) >= LINES // 256


@texts
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_work_ends_wherever_time_is_over(
    name: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = int(share * looks(name, monkeypatch, np.inf))
    with pytest.raises(clock.OutOfTimeError):
        looks(name, monkeypatch, end)
