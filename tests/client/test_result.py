"""What a result prints gives the same lines again."""

from __future__ import annotations

import dataclasses
import json

from lamr_client import MockTransport, Pruner


def test_rounding_moves_no_score_across_the_threshold() -> None:
    scores = (0.23822127, 0.2382207, 0.5000000001, 0.23822131)
    with Pruner(transport=MockTransport()) as pruner:
        result = pruner.prune("which?", "a\nb\nc\nd\n")
    printed = json.loads(dataclasses.replace(result, line_scores=scores, threshold=0.23822127).to_json())
    assert printed["line_scores"] == [0.23822127, 0.238221, 0.5, 0.23822131]
    kept = [score >= printed["threshold"] for score in printed["line_scores"]]
    assert kept == [True, False, True, True]
    by_budget = dataclasses.replace(result, line_scores=scores, threshold=None).to_dict()
    assert by_budget["line_scores"] == [0.238221, 0.238221, 0.5, 0.238221]
