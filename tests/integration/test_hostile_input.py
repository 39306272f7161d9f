"""Whatever comes in: a clear error or the stated behaviour, never a lost or changed line."""

import ast
import re

import pytest
from lamr_client import Pruner, PruneResult
from lamr_postprocess import split_lines

from tests.integration.conftest import STDLIB

QUERY = "How is the timeout enforced?"
SOURCE = (STDLIB / "queue.py").read_text(encoding="utf-8")
MARKER = re.compile(r"\.\.\. (\d+)(?:-(\d+))? pruned")


def check(code: str, result: PruneResult) -> None:
    """Kept lines are there byte for byte, in order; the markers account for every other line."""
    lines = split_lines(code)
    rest = iter(split_lines(result.text))
    assert all(
        any(lines[number - 1].rstrip("\r\n") == line.rstrip("\r\n") for line in rest)
        for number in result.kept_lines
    )
    cut = [number for one in result.cuts for number in range(one.start, one.end + 1)]
    assert sorted([*result.kept_lines, *cut]) == list(range(1, len(lines) + 1))
    assert len(MARKER.findall(result.text)) >= len(result.cuts)


def test_query_far_longer_than_the_window_is_read_in_part(in_process: Pruner) -> None:
    result = in_process.prune("timeout " * 5000 + "\nWhere is the pipe closed?", SOURCE)
    assert result.status == "pruned"
    assert "Where is the pipe closed?" in str(result.query_read)


@pytest.mark.parametrize(
    ("name", "code"),
    {
        "crlf": SOURCE.replace("\n", "\r\n"),
        "lone cr": SOURCE.replace("\n", "\r"),
        "form feeds": SOURCE.replace("\nclass ", "\n\x0cclass "),
        "separators in a string": SOURCE + 's = "\x1c \x1d \x1e \x85"\n',
        "line separators in a comment": SOURCE + "# a\u2028b\u2029c\n",
        "no final newline": SOURCE.rstrip("\n"),
        "byte order mark": "\ufeff" + SOURCE,
    }.items(),
)
def test_odd_newlines_are_kept(name: str, code: str, in_process: Pruner) -> None:
    result = in_process.prune(QUERY, code.encode(), path="queue.py")
    check(code, result)
    assert result.cuts, "something was pruned, so the check means something"
    ast.parse(result.text.encode())  # bytes, since a byte order mark is no part of a str


def test_python_that_does_not_parse_says_where(in_process: Pruner) -> None:
    code = SOURCE.replace("class Queue:", "class Queue(:")
    result = in_process.prune(QUERY, code, path="queue.py")
    check(code, result)
    assert "syntax errors in lines 28" in (result.reason or "")


def test_special_tokens_in_the_text_are_text(in_process: Pruner) -> None:
    code = '# [SEP] [CLS] <|im_end|>\nmarker = "[SEP]"\n' + SOURCE
    check(code, in_process.prune("[SEP] What does [CLS] do?", code, path="queue.py"))


def test_one_line_far_longer_than_the_window(in_process: Pruner) -> None:
    """The megabyte and the 5 MB file are in tests/client."""
    code = SOURCE + "x = [" + ", ".join(str(number) for number in range(12_000)) + "]\n"
    assert len(code.splitlines()[-1]) > 60_000
    check(code, in_process.prune(QUERY, code, path="numbers.py"))
