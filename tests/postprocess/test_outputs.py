"""Tracebacks, failed tests, messages and hunks are kept whole or cut whole, under what they stand under."""

from __future__ import annotations

import re

import numpy as np
import pytest
from lamr_postprocess import detect_language, prune_lines, split_lines
from lamr_postprocess.outputs import MOST_ROWS, failing_lines, output_blocks

# In each, `|` stands before the lines of one block, the first after `>`, and `!` before those of a failing one.
OUTPUTS = {
    "pytest": """
  tests/test_a.py ....F....
  =================================== FAILURES ===================================
!>_________________________________ test_refuses _________________________________
!
!     def test_refuses(pool):
! >       pool.put(1)
! E       pool.Full
!
! src/pool.py:88: Full
  =========================== short test summary info ============================
!>FAILED tests/test_a.py::test_refuses - pool.Full
  1 failed, 411 passed in 3.20s
""",
    "pytest without tests": """
  collected 3 items / 1 error
!>____________________ ERROR collecting tests/test_a.py ____________________
! Traceback:
! tests/test_a.py:4: in <module>
!     from app.pdf import render
! E   ModuleNotFoundError: No module named 'weasyprint'
  =========================== short test summary info ============================
!>ERROR tests/test_a.py
  1 error in 0.12s
""",
    "pytest without a conftest": """
  rootdir: /src
!>ImportError while loading conftest '/src/tests/conftest.py'.
! tests/conftest.py:34: in <module>
!     from app.pdf import render
! app/pdf.py:3: in <module>
!     import weasyprint
! E   ModuleNotFoundError: No module named 'weasyprint'
  $ ls
""",
    "go vet": """
  # example.com/capture/run
!>run/main.go:41:2: fmt.Printf format %d has arg name of wrong type string
!>vet: run/app.go:12:9: undefined: sniff.Open
  ok  \texample.com/capture/a\t0.004s
""",
    "Python": """
  10:22:30 INFO started
!>Traceback (most recent call last):
!   File "a.py", line 3, in run
!     x = f()
! ValueError: bad value
!
! During handling of the above exception, another exception occurred:
!
! Traceback (most recent call last):
!   File "a.py", line 30, in run
! queue.Full
  10:22:32 INFO goes on
""",
    "Python in a container": """
  web-1  | 10:22:31 ERROR job 7 failed
!>web-1  | Traceback (most recent call last):
! web-1  |   File "a.py", line 3, in run
! web-1  | ValueError: bad value
! web-1  |
! web-1  | During handling of the above exception, another exception occurred:
! web-1  |
! web-1  | Traceback (most recent call last):
! web-1  |   File "b.py", line 3, in run
! web-1  | queue.Full
  web-1  | 10:22:32 INFO goes on
""",
    "Python in journald and Kubernetes": """
  May 01 10:22:01 host app[12]: job 7 failed
!>May 01 10:22:02 host app[12]: Traceback (most recent call last):
! May 01 10:22:02 host app[12]:   File "a.py", line 3, in run
! May 01 10:22:02 host app[12]: ValueError: bad value
  May 01 10:22:03 host app[12]: goes on
  2026-05-01T10:22:01.123456789Z goes on
!>2026-05-01T10:22:02.123456789Z Traceback (most recent call last):
! 2026-05-01T10:22:02.123456789Z   File "a.py", line 3, in run
! 2026-05-01T10:22:02.123456789Z ValueError: bad value
  2026-05-01T10:22:03.123456789Z goes on
""",
    "Java": """
  2026-05-01 10:22:31.123 ERROR 1 --- [exec-1] c.e.Web : Servlet threw
!>java.lang.IllegalStateException: Pool is closed
! \tat com.example.Pool.take(Pool.java:31)
! Caused by: java.io.IOException: reset
! \tat java.base/java.net.Socket.read(Socket.java:99)
! \t... 2 more
  2026-05-01 10:22:32.123  INFO 1 --- [main] c.e.App : goes on
""",
    "Node": """
!>TypeError: x is not a function
!     at run (/src/app.js:12:11)
!     at Module._compile (node:internal/modules/cjs/loader:1105:14)
  listening again
""",
    ".NET": """
  C:\\x> dotnet run
!>C:\\x\\y.cs(12,5): error CS1002: ; expected [C:\\x\\p.csproj]
!>Unhandled exception. System.InvalidOperationException: closed
!    at Ns.Pool.Take() in C:\\x\\Pool.cs:line 31
  done
""",
    "Ruby": """
!>app.rb:12:in `take': Pool is closed (RuntimeError)
! \tfrom app.rb:20:in `run'
  done
""",
    "go test": """
  ok  \texample.com/a\t0.012s
!>--- FAIL: TestTake (0.00s)
!     pool_test.go:31: got nil, want ErrClosed
  --- PASS: TestPut (0.00s)
!>panic: index out of range
!
! goroutine 7 [running]:
! example.com/a.run(0x1, 0x2)
! \t/src/a.go:31 +0x1d
! exit status 2
!>FAIL\texample.com/a\t0.015s
  ok  \texample.com/b\t0.012s
""",
    "cargo": """
     Compiling a v0.1.0 (/src)
|>warning: unused variable: `x`
|  --> src/main.rs:2:9
|   |
| 2 |     let x = 1;
|
!>error[E0308]: mismatched types
!  --> src/main.rs:4:18
!   |
! 4 |     let y: i32 = "a";
!   |            ---   ^^^ expected `i32`
  test tests::b ... FAILED
!>---- tests::b stdout ----
! thread 'tests::b' panicked at src/lib.rs:31:9:
! assertion `left == right` failed
  failures:
""",
    "gcc": """
  a.c: In function 'main':
!>a.c:12:5: error: 'x' undeclared
!    12 |     x = 1;
!       |     ^
! a.c:12:5: note: each undeclared identifier is reported only once
|>a.h:3:1: warning: no semicolon
|     3 | struct a { int b }
!>make: *** [Makefile:3: a.o] Error 1
""",
    "TypeScript": """
!>src/a.ts(12,5): error TS2322: Type 'string' is not assignable.
!   Type 'x' is wrong.
!>src/a.ts:12:5 - error TS2322: Type 'string' is not assignable.
!
! 12     let a: number = "x";
!        ~
  Found 1 error.
""",
    "jest": """
  FAIL src/a.test.js
!>  ● pool > refuses
!
!     expect(received).toBe(expected)
!
!       at Object.<anonymous> (src/a.test.js:13:13)
!
!>  ● pool > waits
!
!     timeout
!
  Test Suites: 1 failed, 1 passed, 2 total
""",
    "unittest": """
  ======================================================================
!>FAIL: test_take (tests.PoolTest.test_take)
! ----------------------------------------------------------------------
! Traceback (most recent call last):
!   File "a.py", line 9, in test_take
! AssertionError: 1 != 2
  Ran 4 tests in 0.001s
""",
    "mypy": """
!>a.py:12: error: Incompatible types  [assignment]
!>b.py:3: error: Name "x" is not defined
  Found 2 errors in 2 files
""",
}


def marked(name: str) -> tuple[list[str], str]:
    rows = OUTPUTS[name].strip("\n").split("\n")
    return [row[:2] for row in rows], "".join(f"{row[2:]}\n" for row in rows)


@pytest.mark.parametrize("name", OUTPUTS)
def test_blocks_are_found(name: str) -> None:
    marks, text = marked(name)
    lines = split_lines(text)
    found = ["  "] * len(lines)
    for block in output_blocks(lines):
        for row in block.rows:
            found[row] = ("!" if block.fails else "|") + (">" if row == block.rows[0] else " ")
    blank = [not line.strip() for line in lines]
    assert [mark.ljust(2) for mark, none in zip(marks, blank, strict=True) if not none] == [
        mark for mark, none in zip(found, blank, strict=True) if not none
    ]


@pytest.mark.parametrize("name", OUTPUTS)
def test_of_a_block_no_line_is_kept_alone(name: str) -> None:
    _, text = marked(name)
    lines = split_lines(text)
    for block in output_blocks(lines):
        scores = np.zeros(len(lines))
        scores[block.rows[len(block.rows) // 2]] = 1
        pruned = prune_lines(text, scores, path="out.log", min_cut=0)
        assert {row + 1 for row in block.rows} <= set(pruned.kept_lines)
        assert block.under < 0 or block.under + 1 in pruned.kept_lines


def test_code_in_an_output_says_nothing_of_its_language() -> None:
    _, text = marked("pytest")
    text = text.replace(
        "def test_refuses(pool):",
        "import os\n    from a import b\n    def test(self):\n        return self.x",
    )
    assert detect_language(text).name == "text"
    assert (
        detect_language("import os\nfrom a import b\n\n\ndef f(self):\n    return self.x\n").name == "python"
    )


def test_eslints_messages_stand_under_their_file() -> None:
    text = "\n/src/a.js\n  1:10  warning  'x' is unused\n\n/src/b.js\n  3:1  warning  no\n  4:1  warning  y\n"
    pruned = prune_lines(text, np.array([0, 0, 0, 0, 0, 1, 0]), path="out.log", min_cut=0)
    assert pruned.kept_lines == (5, 6)


def test_a_log_has_no_blocks_and_one_without_an_end_is_joined_as_far_as_one_goes() -> None:
    assert not output_blocks([f"10:22:{i:02d} INFO pool-{i} error count 0 at 3\n" for i in range(60)])
    assert not failing_lines(["nothing\n", "    indented\n", "\n", "failed\n"])
    lines = ["Traceback (most recent call last):\n", *['  File "a.py", line 1, in f\n'] * 5000]
    (block,) = output_blocks(lines)
    assert len(block.rows) == MOST_ROWS
    assert len(output_blocks(["___ test_a ___\n", *["x\n"] * 5000])[0].rows) == MOST_ROWS


def test_hostile_lines_take_no_time_of_their_square() -> None:
    for line in (
        "_ " * 50_000,
        "a:" * 50_000,
        "___ " * 50_000,
        "[ |+-" * 20_000,
        " " * 100_000,
        "a.c(" * 30_000,
    ):
        output_blocks([f"{line}\n"] * 200)


LOG = """commit 1a2b3c4d5e
Author: Ann <a@b.c>
Date:   Fri May 1 10:22:30 2026

    Say why

diff --git a/x.sql b/x.sql
index 1..2 100644
--- a/x.sql
+++ b/x.sql
@@ -1,3 +1,3 @@ a
 one
--- two
+-- three
 four
@@ -10,2 +10,3 @@ b
 ten

+eleven
\\ No newline at end of file
commit 2b3c4d5e6f
Author: Bo <b@b.c>
Date:   Fri May 1 10:22:31 2026

    Second

diff --cc y.c
--- a/y.c
+++ b/y.c
@@@ -1,2 -1,2 +1,3 @@@
  a
++b
  c
"""


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        (14, [1, 2, 3, 7, 9, 10, 11, 12, 13, 14, 15]),
        (19, [1, 2, 3, 7, 9, 10, 16, 17, 19, 20]),
        (31, [21, 22, 23, 27, 28, 29, 30, 31, 32, 33]),
        (25, [21, 22, 23, 25]),
    ],
)
def test_a_change_keeps_its_hunk_file_and_commit(row: int, kept: list[int]) -> None:
    lines = split_lines(LOG)
    scores = np.zeros(len(lines))
    scores[row - 1] = 1
    pruned = prune_lines(LOG, scores, min_cut=0)
    assert pruned.language == "diff"
    inked = [line for line in pruned.kept_lines if lines[line - 1].strip()]
    assert inked == kept


def test_of_a_long_hunk_a_run_of_changes_stays_whole() -> None:
    added = "".join(f"+line {i}\n" for i in range(5))
    context = "".join(f" line {i}\n" for i in range(90))
    diff = f"--- a/x\n+++ b/x\n@@ -1,180 +1,185 @@\n{context}{added}{context}"
    scores = np.zeros(len(split_lines(diff)))
    scores[95] = 1
    pruned = prune_lines(diff, scores, path="x.diff")
    assert pruned.kept_lines == (1, 2, 3, *range(94, 99))
    assert re.search(r"4-93 pruned", pruned.text)
