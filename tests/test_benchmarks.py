"""The benchmarks: every program starts, and the table says what counts as met and what a missing figure does."""

import importlib
import json
from pathlib import Path

import pytest

from benchmarks import __main__ as bench
from benchmarks.__main__ import Missing, rows
from benchmarks.report import Figure, option_parser, read_figures, run

ROOT = Path(__file__).resolve().parents[1]
ALONE = {
    "growth",
    "instant",
    "packs",
    "token_tables",
    "same_output",
    "scale",
}  # what `make bench` leaves out: minutes, or files of one's own
REPORT = {"verification": {"changed_percent": 0.5, "moved_percent": 0.5}}


@pytest.fixture
def bench_run(monkeypatch, tmp_path):
    """`python -m benchmarks --only PROGRAM` with a program that answers at once; gives exit code and table."""

    def run_it(**answers):
        output = tmp_path / "bench.json"
        monkeypatch.setattr(bench, "run_program", lambda program, _: answers[program])
        monkeypatch.setattr(bench, "SHIPPED", tmp_path / "report.json")
        (tmp_path / "report.json").write_text(json.dumps(REPORT))
        monkeypatch.setattr("sys.argv", ["bench", "--only", *answers, "--output", str(output)])
        status = bench.main()
        return status, {row["name"]: row for row in json.loads(output.read_text())["table"]}

    return run_it


@pytest.mark.parametrize("program", sorted(ALONE | bench.PROGRAMS.keys()))
def test_every_program_starts(monkeypatch, capsys, program):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # which `decoding` sets for its own process
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    module = importlib.import_module(f"benchmarks.{program}")
    if program == "same_output":  # which prints hashes instead of figures
        monkeypatch.setattr("sys.argv", ["same_output", "--help"])
        with pytest.raises(SystemExit, match="0"):
            module.main()
    else:
        assert callable(module.measure)
        assert (
            module.PARSER.parse_args(["first"] if program in ("packs", "token_tables") else []).json is False
        )
        assert "--json" in module.PARSER.format_help()
    assert f"python -m benchmarks.{program}" in str(module.__doc__)


def test_every_program_of_the_folder_is_known():
    programs = {
        path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__name__" in path.read_text("utf-8")
    }
    assert programs == {"__main__"} | ALONE | bench.PROGRAMS.keys()


@pytest.mark.parametrize(("value", "code", "met"), [(1.01, 0, True), (1.06, 1, False)])
def test_a_miss_is_in_the_exit_code(bench_run, capsys, value, code, met):
    status, table = bench_run(memory=[Figure("memory", value, "x", 1.05), Figure("for information", 9.0)])
    assert status == code
    row = table["memory"]
    assert (row["value"], row["met"]) == (value, met)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("memory"))
    assert (float(line.split()[-1]) >= 1) == met
    assert ("MISSED" in line) != met
    assert "for information" not in table


def test_a_program_that_fails_is_a_miss(bench_run):
    status, table = bench_run(memory=None)
    assert status == 2
    assert [row["met"] for row in table.values() if row["program"] == "memory"] == [False]


def test_a_figure_under_another_name_is_a_miss(bench_run):
    status, table = bench_run(throughput=[Figure("renamed", 1.0)], large_encoder=[Figure("renamed", 1.0)])
    assert status == 1
    assert table["time outside an encoder of the 0.6B shape"]["met"] is False


def test_a_row_of_two_programs_waits_for_both():
    served = [Figure("  time outside the encoder, a token", 0.2, "ms")]
    large = [
        Figure("  0.6B encoder, 512 tokens", 1000.0, "tokens/s"),
        Figure("decoder, 512 tokens of 3072 features", 0.0, "ms"),
        Figure("four copies, 512 tokens of 3072 features", 51.2, "ms"),
    ]
    assert "both" not in dict(rows({"throughput": served}, REPORT))
    row = dict(rows({"throughput": served, "large_encoder": large}, REPORT))["both"]
    # 0.2 + 0.1 ms a token outside, 1 ms inside
    assert row.value == pytest.approx(100 * 0.3 / 1.3)


def test_a_shipped_report_without_figures_is_a_miss():
    assert all(isinstance(row, Missing) for program, row in rows({}, {}) if program == "shipped")
    assert [row.met for _, row in rows({}, REPORT)] == [True, True]


@pytest.mark.parametrize(
    ("figure", "met", "ratio"),
    [
        (Figure("a", 2.0, "x", 4.0), True, 2.0),
        (Figure("a", 2.0, "x", 4.0, at_least=True), False, 0.5),
        (Figure("a", 0.0, "", 0), True, None),
        (Figure("a", 1.0), None, None),
    ],
)
def test_a_target_bounds_from_its_side(figure, met, ratio):
    assert (figure.met, figure.ratio) == (met, ratio)


@pytest.mark.parametrize(("target", "code"), [(1.0, 1), (3.0, 0), (None, 0)])
def test_what_a_program_prints_can_be_read_again(monkeypatch, capsys, target, code):
    figure = Figure("of a thing", 2.0, "ms", target)
    parser = option_parser("A program.")
    monkeypatch.setattr("sys.argv", ["program", "--json"])
    assert run(parser, lambda _: iter(["a note", figure])) == code
    assert read_figures(capsys.readouterr().out) == [figure]
    monkeypatch.setattr("sys.argv", ["program"])
    assert run(parser, lambda _: iter(["a note", figure])) == code
    assert capsys.readouterr().out.splitlines() == ["a note", str(figure)]
    with pytest.raises(ValueError, match="no figures"):
        read_figures('{"rows": []}')


def test_operations_are_those_of_the_layers_weights():
    shape = importlib.import_module("benchmarks.qwen_shape")
    weights = sum(
        parameter.numel()
        for name, parameter in shape.build(2, 64).named_parameters()
        if parameter.ndim == 2 and not name.startswith(("heads.", "relevance.", "backbone.embed"))
    )
    tokens = 10
    counted = 2 * shape.linear(shape.LAYER_PRODUCTS, tokens) + shape.linear(shape.FUSION_PRODUCTS, tokens)
    assert counted == 2 * tokens * weights
    attention = shape.operations(tokens, 2) - counted
    # 55 of 100 pairs in two causal layers of 16 heads of 128, all 100 in fusion's 3,072 features
    assert attention == 4 * (2 * 55 * 16 * 128 + 100 * 3072)
