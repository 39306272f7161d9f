"""LongCodeZip's own code said this of the same models, chunks and options; ours says the same.

`data/longcodezip.json` holds what the published code gave (github.com/YerbaPage/LongCodeZip, commit 371248b, in float32
on a CPU; docs/lab/repositories.md tells how)."""

import json
from pathlib import Path

import numpy as np
import pytest
from lamr_repositories.compression import CompressionOptions, compress_chunks

FACTS = json.loads((Path(__file__).parent / "data" / "longcodezip.json").read_text(encoding="utf-8"))
CASES = [(kind, name) for kind in FACTS["models"] for name in FACTS["models"][kind]]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_the_same_ranking_sections_and_selection(causal_scorer, kind: str, name: str) -> None:
    theirs = FACTS["models"][kind][name]
    ours = compress_chunks(
        FACTS["chunks"], FACTS["question"], causal_scorer(kind), CompressionOptions(**theirs["options"])
    )
    assert list(ours.order) == theirs["order"]
    scores = [theirs["scores"][str(place)] for place in range(len(ours.chunks))]
    assert [chunk.score for chunk in ours.chunks] == pytest.approx(scores, rel=1e-4, abs=1e-3)
    assert [place for place, chunk in enumerate(ours.chunks) if chunk.taken] == theirs["taken"]
    for place, chunk in enumerate(ours.chunks):
        if str(place) in theirs["rates"]:
            assert chunk.rate == pytest.approx(theirs["rates"][str(place)], abs=1e-4)
        if chunk.sections is not None:
            assert np.diff(chunk.sections.bounds).tolist() == theirs["blocks"][str(place)]
        assert bool(chunk.kept_sections) == (str(place) in theirs["kept"])
        if chunk.kept_sections:
            assert list(chunk.kept_sections) == theirs["kept"][str(place)]


def test_the_facts_hold_knapsacks_that_left_something_out() -> None:
    cases = [case for model in FACTS["models"].values() for case in model.values()]
    left_out = [
        place
        for case in cases
        for place, kept in case["kept"].items()
        if len(kept) < len(case["blocks"][place])
    ]
    assert len(left_out) == 41
