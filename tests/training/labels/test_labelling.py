"""`lamr research label` labels a whole file, past bad records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lamr_training.errors import RecordError
from lamr_training.labels.labelling import label_file
from lamr_training.labels.rubrics import label_lines

from tests.training.samples import CACHE

COUNT = CACHE.count("\n")


def row(number: int, **changes: Any) -> dict[str, Any]:
    code = CACHE.replace("FileCache", f"Cache{number}")
    kept = [number % COUNT + 1, (7 * number) % COUNT + 1]
    return {"query": f"question {number}?", "code": code, "kept_frags": kept, "score": 0.8, **changes}


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "lamr_cli.main", "research", "label", *map(str, arguments)]


def test_rows_keep_their_fields_and_get_the_labels_of_their_lines(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [row(n, id=f"r{n}", note=[n]) for n in range(5)])
    summary = label_file(source, tmp_path / "out.jsonl", weights=True)
    assert (summary.labelled, summary.bad, summary.unparsed) == (5, [], [])
    for number, (before, after) in enumerate(zip(read(source), read(tmp_path / "out.jsonl"), strict=True)):
        labels, weights = after.pop("labels"), after.pop("weights")
        assert after == before
        expected = label_lines(before["code"], before["kept_frags"], 0.8)
        assert labels["semantic"] == sorted(set(before["kept_frags"])), number
        for name in ("dependency", "aggregate"):
            assert labels[name] == (np.flatnonzero(getattr(expected, name)) + 1).tolist()
        assert weights["semantic"] == [[n, 0.8] for n in labels["semantic"]]
        assert {n for n, _ in weights["dependency"]} >= set(labels["dependency"])


def test_the_target_appears_whole_and_progress_reaches_the_end(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [row(n) for n in range(30)])
    target, shown = tmp_path / "out.jsonl", []

    def show(what: str, done: int, total: int) -> None:
        assert not target.exists()
        shown.append((done, total))

    label_file(source, target, progress=show)
    size = source.stat().st_size
    assert (len(shown), shown == sorted(shown), shown[-1]) == (30, True, (size, size))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        label_file(write(tmp_path / "in.jsonl", [row(1)]), tmp_path / "out.jsonl", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


BAD = {
    "not JSON": b"{\n",
    "not a JSON object": b"[1]\n",
    "the field 'code' is missing": b'{"query": "q", "kept_frags": []}\n',
    "kept_frags holds 51, but the code has lines 1 to": json.dumps(row(1, kept_frags=[2, 51])).encode()
    + b"\n",
    "kept_frags holds 0": json.dumps(row(1, kept_frags=[0])).encode() + b"\n",
    "kept_frags must be a list": json.dumps(row(1, kept_frags=["3"])).encode() + b"\n",
    "score 1.5 is outside": json.dumps(row(1, score=1.5)).encode() + b"\n",
    "score must be a number": json.dumps(row(1, score="high")).encode() + b"\n",
    "the query is empty": json.dumps(row(1, query=" ")).encode() + b"\n",
    "code must be text": json.dumps(row(1, code=None)).encode() + b"\n",
    "not UTF-8": b'{"query": "\xff"}\n',
    "the id 'a' is that of line 1 already": json.dumps(row(1, id="a")).encode() + b"\n",
    "nested too deeply": b"[" * 100_000 + b"\n",
}


def test_bad_records_are_named_and_left_out(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    good = json.dumps(row(1, id="a")).encode() + b"\n"
    source.write_bytes(good + b"\n" + b"".join(BAD.values()) + json.dumps(row(2)).encode())
    done = subprocess.run(command(source, tmp_path / "out.jsonl", "--json"), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(read(tmp_path / "out.jsonl")) == 2
    messages = done.stderr.decode().splitlines()
    for line, reason, message in zip(range(3, 3 + len(BAD)), BAD, messages, strict=True):
        assert message.startswith(f"{source}:{line}: ")
        assert reason in message
    summary = json.loads(done.stdout)
    assert summary["labelled"] == 2
    assert [problem["line"] for problem in summary["bad"]] == list(range(3, 3 + len(BAD)))


def test_code_that_does_not_parse_is_labelled_without_dependencies(tmp_path: Path) -> None:
    nested = "(" * 3000 + ")" * 3000 + "\n" + "-" * 200_000 + "1\n"
    rows = [
        row(1),
        row(2, code="def broken(:\n    pass\n", kept_frags=[2]),
        row(3, code=nested, kept_frags=[1]),
    ]
    reported: list[int] = []
    summary = label_file(
        write(tmp_path / "in.jsonl", rows),
        tmp_path / "out.jsonl",
        report=lambda problem: reported.append(problem.line),
    )
    assert summary.labelled == 3
    assert [problem.line for problem in summary.unparsed] == reported == [2, 3]
    labels = read(tmp_path / "out.jsonl")[1]["labels"]
    assert labels == {"semantic": [2], "dependency": [], "aggregate": [2]}


def test_nothing_to_label_is_an_error(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.jsonl", [])
    with pytest.raises(RecordError, match=r"empty\.jsonl: holds no records"):
        label_file(empty, tmp_path / "out.jsonl")
    bad = write(tmp_path / "bad.jsonl", [{}, {}])
    with pytest.raises(
        RecordError,
        match=r"none of 2 records can be used; line 1: the fields 'query', 'code', 'kept_frags' are missing",
    ):
        label_file(bad, tmp_path / "out.jsonl")
    with pytest.raises(RecordError, match=r"missing\.jsonl: No such file"):
        label_file(tmp_path / "missing.jsonl", tmp_path / "out.jsonl")
    good = write(tmp_path / "good.jsonl", [row(1)])
    with pytest.raises(RecordError, match="overwrite its own input"):
        label_file(good, good)
    assert not (tmp_path / "out.jsonl").exists()
    assert read(good) == [row(1)]
