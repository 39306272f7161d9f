"""Lines that a query names: by number, in the forms of compilers, traces and people, or by what a log's lines hold."""

import time

import numpy as np
import pytest
from lamr_model.scoring.named_lines import REACH, named_lines, named_text, nearness, placed_lines
from lamr_postprocess.lines import line_spans
from lamr_postprocess.listing import read_listing

from tests.timing import growth

LINES = 60


def found(words: str, path: str = "src/pool.py") -> list[int]:
    return (np.flatnonzero(named_lines(words, path, LINES)) + 1).tolist()


@pytest.mark.parametrize(
    "words",
    [
        "pool.py:12",
        "src/pool.py:12:5: error: no such name",
        "see `pool.py`:12",
        "/testbed/src/pool.py:12",
        "./pool.py:12 fails",
        "src\\pool.py:12",
        'File "/app/src/pool.py", line 12, in take',
        "src/pool.py(12,5): error TS2304",
        "pool.py(12)",
        "https://github.com/acme/pool/blob/main/src/pool.py#L12",
        "   at Acme.Take() in C:\\acme\\src\\pool.py:line 12",
        "Parse error in /var/www/src/pool.py on line 12",
        "pool.py, line 12",
        "line 12 of pool.py",
        "Line 12 in the file src/pool.py is wrong",
        "I'll look at line 12",
        "In pool.py the check (line 12) is wrong",
        "self.take fails at line 12",
        "sed -n 12p src/pool.py",
        "--- a/src/pool.py\n+++ b/src/pool.py\n@@ -12 +12,2 @@ def take(self):",
        "--- src/pool.py\t2026-01-01 10:00:00\n+++ src/pool.py\n@@ -12,1 +14,1 @@",
        "--- a/src/pool.py\n+++ b/src/pool.py\n@@ -12,0 +13,2 @@",
        "--- a/queue.py\n+++ b/queue.py\n@@ -3 +3 @@\n--- a/src/pool.py\n+++ b/src/pool.py\n@@ -12 +12 @@",
    ],
)
def test_each_form_names_the_line(words: str) -> None:
    assert found(words) == [12]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("lines 12-14", [12, 13, 14]),
        ("lines 12\u201314", [12, 13, 14]),
        ("Lines 12 to 14 and 20", [12, 13, 14, 20]),
        ("lines 3, 5, and 7", [3, 5, 7]),
        ("pool.py:12-14", [12, 13, 14]),
        ("pool.py#L12-L14", [12, 13, 14]),
        ("lines 58-70", [58, 59, 60]),
        ("sed -n '12,14p' src/pool.py", [12, 13, 14]),
        ('sed -n "12,14p" /testbed/src/pool.py | head', [12, 13, 14]),
        ("--- a/src/pool.py\n+++ b/src/pool.py\n@@ -3,2 +3,3 @@\n x\n@@ -9,2 +10,2 @@", [3, 4, 9, 10]),
        ('File "pool.py", line 3, in a\n  x\nFile "pool.py", line 9, in b', [3, 9]),
    ],
)
def test_ranges_and_lists(words: str, lines: list[int]) -> None:
    assert found(words) == lines


@pytest.mark.parametrize(
    "words",
    [
        "",
        "other.py:12",
        "tests/pool.py:12",
        'File "queue.py", line 12',
        "In queue.py the check at line 12",
        "line 12 of queue.py",
        "the first line",
        "120 lines of code",
        "pipeline 12",
        "line 0",
        "line 61",
        "lines 14-12",
        "lines 1-900000",
        "line 99999999999999999999",
        "12 retries in 30 s",
        "pool.py v12",
        "sed -n 12p queue.py",
        "sed -n 12p",
        "sed s/12/13/ pool.py",
        "@@ -12,3 +12,3 @@",
        "--- a/queue.py\n+++ b/queue.py\n@@ -12,3 +12,3 @@",
        "--- /dev/null\n+++ b/src/pool.py\n@@ -0,0 +1,20 @@",
    ],
)
def test_other_files_and_other_numbers_name_nothing(words: str) -> None:
    assert found(words) == []


def test_without_a_path_only_bare_numbers_count() -> None:
    assert found("line 12", path="") == [12]
    assert found("pool.py:12", path="") == []


def test_nearness_falls_to_nothing() -> None:
    near = nearness(named_lines("lines 10 and 12", "", 20))
    assert near[[9, 11]].tolist() == [1, 1]
    assert near[10] == near[8] == REACH / (REACH + 1)
    assert near[11 + REACH] == 1 / (REACH + 1)
    assert not near[12 + REACH :].any()
    assert nearness(np.ones(1, np.bool_)).tolist() == [1]
    assert nearness(np.zeros(0, np.bool_)).shape == (0,)


@pytest.mark.parametrize(
    "words",
    [
        "a" * 300_000,
        "a.b" * 100_000,
        "a/b.c:" * 50_000,
        "line 1 " * 40_000,
        "lines " + "1, " * 80_000,
        "x.py " * 50_000 + "line 3",
        "." * 200_000 + "py:3",
        "9" * 200_000,
        "--- x.py\n" + "@@ -1,2 +1,2 @@\n" * 15_000,
        "sed -n 1,2p " * 20_000,
    ],
)
def test_hostile_queries_take_no_long_time(words: str) -> None:
    began = time.process_time()
    named_lines(words, "x.py", 10)
    assert time.process_time() - began < 10


LOG = "".join(
    f"2026-05-01T{9 + i // 120:02d}:{i // 2 % 60:02d}:{i * 30 % 60:02d}Z [pool-{i % 40}] INFO job {4000 + i} of "
    f"req-{i:04x} from 10.0.{i // 200}.{i % 200} in runJob {i % 7} ms\n"
    for i in range(400)
)


def named(words: str, text: str = LOG) -> list[int]:
    return np.flatnonzero(named_text(words, text, line_spans(text))).tolist()


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("What happened at 10:22:30?", [165]),
        ("What happened at 10:22?", [164, 165]),
        ("Look at 2026-05-01T10:22:30Z.", [165]),
        ("2026-05-01 10:22:30", [165]),
        ("Why did job 4321 end?", [321]),
        ("what became of req-00a7", [167]),
        ("which came from 10.0.1.33?", [233]),
        ("job 4321 and req-00a7", [167, 321]),
        ("what did pool-3 do", [3, 43, 83, 123, 163, 203, 243, 283, 323, 363]),
        ("between 10:22 and 10:23:00", [164, 165, 166]),
        ("10:22:00-10:23:00", [164, 165, 166]),
        ("the line `of req-00a7 from`", [167]),
        ("What does runJob do?", []),  # every line holds it
        ("line 4321", []),  # a line's number
        ("lines 12, 4321 and 4322", []),
        ("1:22:30", []),
        ("22:30", []),
        ("Why is it slow?", []),
        ("", []),
    ],
)
def test_what_lines_hold_names_them(words: str, rows: list[int]) -> None:
    assert named(words) == rows


def test_times_are_found_in_the_forms_of_logs() -> None:
    forms = (
        '127.0.0.1 - - [01/May/2026:10:22:{:02d} +0000] "GET /"\n',
        "May  1 10:22:{:02d} host app: x\n",
        "[10:22:{:02d}] x\n",
        "2026-05-01 10:22:{:02d},123 x\n",
    )
    for form in forms:
        text = "".join(form.format(second) for second in range(60))
        assert named("at 10:22:30", text) == [30]
        assert named("from 10:22:29 to 10:22:31", text) == [29, 30, 31]
    assert named("10:22:30", "") == []


@pytest.mark.parametrize("part", ["a1", "`", "10:22 ", "a_", "aB.", "1,2 "])
def test_hostile_words_take_no_time_of_their_square(part: str) -> None:
    assert growth(named, lambda size: part * size, 5_000, 16) < 64  # a square would be 256


def test_lines_of_a_search_are_named_by_file_and_number() -> None:
    listing = read_listing("src/a.c:3:x\nsrc/a.c:9:y\n--\nlib/a.c:9:z\nlib/b.c:9:z\n")
    assert listing is not None
    assert listing.places is not None
    for words, rows in (
        ("src/a.c:9", [1]),
        ("b.c:9:4: error", [4]),
        ("line 9 of lib/a.c", [3]),
        ("line 9", []),
    ):
        assert np.flatnonzero(placed_lines(words, "", listing.places)).tolist() == rows, words
    single = read_listing("a.c:3:x\na.c:9:y\n")
    assert single is not None
    assert single.places is not None
    assert placed_lines("line 9", "", single.places).tolist() == [False, True]
