"""The table of `make bench`: what counts as met, what a missing figure does, and how operations are counted."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def bench(monkeypatch):
    """`python -m benchmarks` as a module, with programs that answer at once: see `answers`."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.__main__")


@pytest.fixture
def shape(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("qwen_shape")


def run(bench, monkeypatch, tmp_path, program, answer):
    output = tmp_path / "bench.json"
    monkeypatch.setattr(bench, "run", lambda *_: answer)
    monkeypatch.setattr(bench, "SHIPPED", tmp_path / "report.json")
    report = {"verification": {"changed_percent": 0.5, "moved_percent": 0.5}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    monkeypatch.setattr("sys.argv", ["bench", "--only", program, "--output", str(output)])
    return bench.main(), {row["what"]: row for row in json.loads(output.read_text())["table"]}


def test_every_row_has_a_program_that_runs(bench):
    assert {name for row in bench.TABLE for name in row.programs} <= {*bench.PROGRAMS, "shipped"}
    assert all((ROOT / "benchmarks" / f"{name}.py").is_file() for name in bench.PROGRAMS)


@pytest.mark.parametrize(("ratio", "code", "met"), [(1.01, 0, True), (1.06, 1, False)])
def test_a_miss_is_in_the_exit_code(bench, monkeypatch, tmp_path, ratio, code, met):
    status, rows = run(bench, monkeypatch, tmp_path, "memory", {"ratio": ratio})
    assert status == code
    row = rows["memory after 500 requests over 100"]
    assert (row["value"], row["met"]) == (ratio, met)
    assert (row["ratio"] >= 1) == met


@pytest.mark.parametrize(("answer", "code"), [(None, 2), ({"renamed": 1.0}, 1)])
def test_a_figure_that_is_not_there_is_a_miss(bench, monkeypatch, tmp_path, answer, code):
    status, rows = run(bench, monkeypatch, tmp_path, "memory", answer)
    assert status == code
    assert rows["memory after 500 requests over 100"]["met"] is False


def test_a_row_of_two_programs_waits_for_both(bench, monkeypatch, tmp_path):
    figures = {
        **dict.fromkeys(("served_over_baseline", "packed_over_padded"), 30.0),
        **{"served_seconds": 10.0, "outside_encoder_percent": 20.0, "tokens": 10_000},
    }
    _, rows = run(bench, monkeypatch, tmp_path, "throughput", figures)
    assert "the same beside the 0.6B shape" not in rows
    large = {
        "rows": [{"tokens": 512, "seconds_whole": 0.512}],
        **{"decoder_seconds": 0.0, "copies_seconds": 0.0512},
    }
    row = next(row for row in bench.TABLE if row.what == "the same beside the 0.6B shape")
    # 0.2 + 0.1 ms a token outside, 1 ms inside
    assert row.read({"throughput": figures, "large_encoder": large}) == pytest.approx(100 * 0.3 / 1.3)


def test_operations_are_those_of_the_layers_weights(shape):
    weights = sum(
        parameter.numel()
        for name, parameter in shape.build(2, 64).named_parameters()
        if parameter.ndim == 2 and not name.startswith(("heads.", "relevance.", "backbone.embed"))
    )
    tokens = 10
    counted = 2 * shape.linear(shape.LAYER_PRODUCTS, tokens) + shape.linear(shape.FUSION_PRODUCTS, tokens)
    assert counted == 2 * tokens * weights
    attention = shape.Operations.of(tokens).whole(2) - counted
    # 55 of 100 pairs in two causal layers of 16 heads of 128, all 100 in fusion's 3,072 features
    assert attention == 4 * (2 * 55 * 16 * 128 + 100 * 3072)
