"""Lines that a query names by number are found in the forms of compilers, traces, links and people, and no others."""

import time

import numpy as np
import pytest
from lamr_model.scoring.named_lines import REACH, named_lines, nearness

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
