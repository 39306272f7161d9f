"""What a tool's output says of how its run ended stays, whatever is asked and however little may be shown.

Samples are as the tools print them. In front of a line, `s` marks a summary and `f` the head of a failure."""

# ruff: noqa: RUF001 - signs are the tools' own
from __future__ import annotations

import time

import numpy as np
import pytest
from lamr_postprocess import prune_lines, split_lines
from lamr_postprocess.outcomes import outcome_of, tools
from lamr_postprocess.page import render_html
from lamr_postprocess.prune import MOST_OUTCOMES
from lamr_postprocess.view import render_heat

SAMPLES = {
    "pytest": """
  tests/test_a.py ..F.E.                                                   [ 40%]
  _________________________________ test_refund _________________________________
f FAILED tests/test_a.py::test_refund - assert 12 == 21
f ERROR tests/test_b.py - RuntimeError: no migration
s =================== 1 failed, 24 passed, 1 error in 3.14s ===================
""",
    "pytest -q": "  ....    [ 50%]\nf ..F.    [100%]\ns 1 failed, 7 passed in 0.12s\n",
    "pytest, ended": "  ....... [  4%]\nf ..F..F. [  8%]\n  ....... [ 12%]\n",
    "pytest -n 4 -v": "  [gw0] [ 10%] PASSED a.py::t[1] \nf [gw1] [ 20%] FAILED a.py::t[2] \n",
    "pytest -v": "  a.py::t[1] PASSED   [ 10%]\nf a.py::t[2] FAILED   [ 20%]\nf a.py::t[3] ERROR    [ 30%]\n",
    "unittest": """
  test_a (t.T.test_a) ... ok
f test_b (t.T.test_b) ... FAIL
f FAIL: test_b (t.T.test_b)
s Ran 2 tests in 0.001s
s FAILED (failures=1)
""",
    "unittest, passing": "  ..\n  -----\ns Ran 2 tests in 0.001s\ns OK\n",
    "jest": """
  PASS src/b.test.js
f FAIL src/a.test.js
f   ● cart › refunds
s Test Suites: 1 failed, 1 passed, 2 total
s Tests:       1 failed, 5 passed, 6 total
s Time:        1.2 s
""",
    "vitest": """
   ✓ src/a.test.ts (3 tests) 12ms
f  ❯ src/b.test.ts (4 tests | 1 failed) 9ms
f  FAIL  src/b.test.ts > refunds
s  Test Files  1 failed | 1 passed (2)
s       Tests  1 failed | 6 passed (7)
s    Duration  1.20s
""",
    "mocha": "    ✓ adds\nf     1) refunds\ns   1 passing (8ms)\ns   1 failing\nf   1) cart refunds:\n",
    "node:test": "✔ adds (1ms)\nf ✖ refunds (2ms)\ns ℹ tests 2\ns ℹ pass 1\ns ℹ fail 1\n".replace(
        "✔", "  ✔", 1
    ),
    "TAP": "  ok 1 - adds\nf not ok 2 - refunds\ns 1..2\ns # tests 2\ns # fail  1\n".replace(
        "fail  1", "fail 1"
    ),
    "bats": "   ✓ adds\nf  ✗ refunds\ns 2 tests, 1 failure\n",
    "prove": """
f #   Failed test 'refunds'
f t/a.t .. Dubious, test returned 1
f t/a.t (Wstat: 256 Tests: 2 Failed: 1)
s Files=1, Tests=2,  0 wallclock secs
s Result: FAIL
""",
    "go test": """
  === RUN   TestAdd
  --- PASS: TestAdd (0.00s)
f --- FAIL: TestRefund (0.00s)
      a_test.go:9: got 12
s FAIL
s FAIL\texample.com/pay\t0.002s
s FAIL
""",
    "go test -json": '  {"Action":"pass","Test":"A"}\nf {"Time":"2026","Action":"fail","Test":"B"}\n',
    "cargo test": """
  test adds ... ok
f test refunds ... FAILED
  ---- refunds stdout ----
s test result: FAILED. 1 passed; 1 failed; 0 ignored
s error: test failed, to rerun pass `--lib`
""",
    "rustc": """
f error[E0432]: unresolved import `std::nothing`
   --> e.rs:1:5
    |
  1 | use std::nothing::Thing;
    |     ^^^ not found
s error: aborting due to 1 previous error
""",
    "ctest": """
    1/2 Test #1: add ..............   Passed    0.00 sec
f   2/2 Test #2: refund ...........***Failed    0.01 sec
s 50% tests passed, 1 tests failed out of 2
s Total Test time (real) =   0.01 sec
s The following tests FAILED:
f \t  2 - refund (Failed)
s Errors while running CTest
""",
    "GoogleTest": """
  [       OK ] A.Adds (0 ms)
f a_test.cc:9: Failure
f [  FAILED  ] A.Refunds (0 ms)
s [==========] 2 tests from 1 test suite ran. (0 ms total)
s [  PASSED  ] 1 test.
s  1 FAILED TEST
""",
    "gradle": """
  > Task :compileJava
f > Task :test FAILED
f CartTest > refunds() FAILED
s 2 tests completed, 1 failed
s FAILURE: Build failed with an exception.
f * What went wrong:
f Execution failed for task ':test'.
s BUILD FAILED in 10s
s 2 actionable tasks: 2 executed
""",
    "maven": """
  [INFO] Running CartTest
f [ERROR] refunds(CartTest)  Time elapsed: 0.1 s  <<< FAILURE!
s [ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0
s [INFO] BUILD FAILURE
s [INFO] Total time:  3.1 s
s [ERROR] Failed to execute goal on project pay
""",
    "dotnet test": """
    Passed Adds [1 ms]
f   Failed Refunds [2 ms]
s Failed!  - Failed:     1, Passed:     1, Skipped:     0, Total:     2
""",
    "dotnet build": "f A.cs(3,5): error CS0103: The name 'x' does not exist\ns Build FAILED.\ns     1 Error(s)\n",
    "rspec": """
f   refunds (FAILED - 1)
s Finished in 0.01 seconds
s 2 examples, 1 failure
  rspec ./spec/a_spec.rb:9 # Cart refunds
""",
    "minitest": "f   1) Failure:\nf CartTest#test_refund [a.rb:9]:\ns 2 runs, 2 assertions, 1 failures, 0 errors\n",
    "PHPUnit": """
s There was 1 failure:
f 1) CartTest::testRefund
s FAILURES!
s Tests: 2, Assertions: 2, Failures: 1.
""",
    "behave": "f Failing scenarios:\nf   a.feature:3  refunds\ns 0 features passed, 1 failed, 0 skipped\n",
    "robot": "  Adds   | PASS |\nf Refunds   | FAIL |\ns 2 tests, 1 passed, 1 failed\n",
    "tsc": "f src/a.ts(3,5): error TS2339: Property 'x' does not exist.\ns Found 1 error in src/a.ts:3\n",
    "tsc --pretty": "f src/a.ts:3:5 - error TS2339: Property 'x' does not exist.\ns Found 1 error.\n",
    "eslint": "  /src/a.js\n    1:3  warning  w  no-w\nf   3:1  error  e  no-e\ns ✖ 2 problems (1 error, 1 warning)\n",
    "ruff": "f F401 [*] `os` imported but unused\n   --> a.py:1:8\ns Found 1 error.\n",
    "ruff, passing": "s All checks passed!\n",
    "mypy": "f a.py:3: error: Incompatible types  [assignment]\ns Found 1 error in 1 file (checked 9 source files)\n",
    "pylint": "f a.py:3:5: E0602: Undefined variable 'x' (undefined-variable)\ns Your code has been rated at 5.0/10\n",
    "black": "f would reformat a.py\ns Oh no! 💥\ns 1 file would be reformatted, 3 files would be left unchanged.\n",
    "gcc": """
  a.c: In function 'main':
f a.c:3:5: error: 'x' undeclared
f a.c:9:5: error: unused variable 'y' [-Werror=unused-variable]
s cc1: all warnings being treated as errors
""",
    "clang": "f a.c:3:5: error: use of undeclared identifier 'x'\ns 1 error generated.\n",
    "linker": "f a.c:(.text+0x5): undefined reference to `f'\nf collect2: error: ld returned 1 exit status\n",
    "GHC": "f Main.hs:28:22: error: [GHC-88464]\nf     Variable not in scope: x :: Int\n     |\n  28 | f = x\n",
    "javac": "f A.java:3: error: cannot find symbol\ns 1 error\n",
    "warnings": "f build finished with problems, 3 warnings (with warnings treated as errors).\n",
    "eslint --max-warnings": "f ESLint found too many warnings (maximum: 0).\n",
    "docker": """
  #5 RUN make
f ERROR: failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 2
""",
    "docker build": """
  #12 [3/5] RUN make
f #12 0.5 a.c:3:5: error: 'x' undeclared
f #12 ERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2
""",
    "kubectl": """
  NAME      READY   STATUS             RESTARTS   AGE
  kafka-1   1/1     Running            0          12d
f kafka-0   0/1     CrashLoopBackOff   7          12d
f kafka-2   1/2     Running            0          12d
""",
    "terraform": 'f │ Error: Reference to undeclared resource\nf │   on main.tf line 3, in output "x":\n',
    "terraform plan": "s Plan: 1 to add, 0 to change, 2 to destroy.\n",
    "make": "  cc -c a.c\nf make: *** [Makefile:3: a.o] Error 1\n",
    "npm": "f npm error code ELIFECYCLE\nf npm error a@1.0.0 test: `exit 3`\n",
    "pip": "f ERROR: No matching distribution found for nothing\n",
    "git merge": "  Auto-merging a.txt\nf CONFLICT (content): Merge conflict in a.txt\ns Automatic merge failed\n",
    "git push": "f  ! [rejected]        main -> main (fetch first)\nf error: failed to push some refs\n",
    "GitHub Actions": """
  2026-11-27T10:00:00.1234567Z Run make
f 2026-11-27T10:00:01.1234567Z ##[error]Process completed with exit code 2.
""",
    "docker compose": "  web-1  | ok\nf web-1  | FAILED a.py::t - assert 1 == 2\n",
    "turbo": "  web:test: ok\nf web:test: FAILED a.py::t - assert 1 == 2\n",
    "colours": "  \x1b[32mok\x1b[0m\nf \x1b[31m\x1b[1mFAILED\x1b[0m a.py::\x1b[1mt\x1b[0m - assert\n",
    "steps": "  1/2 case a: exit code 0\nf 2/2 case b: exit code 7\ns exit code 1\n",
    "no tool": "  step 1 done\nf Segmentation fault (core dumped)\n",
    "valgrind": "f ==7==    at 0x1: f (a.c:3)\ns ==7== ERROR SUMMARY: 1 errors from 1 contexts\n",
}
PASSING = "".join(f"another line {n}, about nothing at all\n" for n in range(40))


def sample(name: str) -> tuple[list[str], str]:
    rows = SAMPLES[name].strip("\n").split("\n")
    return [row[:1] for row in rows], "".join(f"{row[2:]}\n" for row in rows)


@pytest.mark.parametrize("name", SAMPLES)
def test_summaries_and_failures_are_found(name: str) -> None:
    """Behind 40 other lines and before as many, so that neither place counts."""
    marks, text = sample(name)
    outcome = outcome_of(split_lines(PASSING + text + PASSING))
    found = [""] * len(marks)
    for row in range(40, 40 + len(marks)):
        found[row - 40] = "f" if row in outcome.failures else "s" if row in outcome.totals else " "
    wrong = [
        (want, got, line)
        for want, got, line in zip(marks, found, text.split("\n"), strict=False)
        if want == "f" != got or (want == "s" and got == " ")
    ]
    assert not wrong
    assert [got for want, got in zip(marks, found, strict=True) if want == " "].count("f") <= marks.count("f")


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("tokens", [None, 400])
def test_they_stay_whatever_the_scores_say(name: str, tokens: int | None) -> None:
    marks, text = sample(name)
    whole = PASSING * 3 + text
    lines = split_lines(whole)
    scores = np.linspace(1, 0, len(lines))  # the end is worth least
    pruned = prune_lines(whole, scores, path="run.log", threshold=None if tokens else 0.9, max_tokens=tokens)
    wanted = {row + 121 for row, mark in enumerate(marks) if mark in "sf" and mark.strip()}
    assert wanted <= set(pruned.kept_lines)
    assert len(lines) in pruned.kept_lines  # the end, whatever it is
    assert "outcome" in pruned.reasons.values()


def many(failures: int) -> str:
    heads = "".join(f"FAILED tests/test_a.py::test_{n} - assert {n} == {n + 1}\n" for n in range(failures))
    return PASSING + heads + f"======= {failures} failed, 3 passed in 3.14s =======\n"


@pytest.mark.parametrize("tokens", [60, 200, 800])
def test_what_doesnt_fit_is_counted(tokens: int) -> None:
    text = many(90)
    scores = np.ones(len(split_lines(text)))
    pruned = prune_lines(text, scores, path="run.log", max_tokens=tokens)
    shown, all_of_them = pruned.failures
    assert pruned.text.count("FAILED") == shown < all_of_them == 90
    assert pruned.note == f"{shown} of 90 failures shown"
    assert pruned.reasons[131] == "outcome"
    assert "90 failed, 3 passed" in pruned.text
    assert "FAILED tests/test_a.py::test_0 " in pruned.text  # the first ones


def test_totals_that_dont_fit_and_failures_beyond_so_many_are_counted() -> None:
    totals = "".join(f"Tests: {n} failed, {n} passed, in the {'long ' * 40}suite {n}\n" for n in range(9, 15))
    text = PASSING + totals
    pruned = prune_lines(text, np.zeros(len(split_lines(text))), path="run.log", max_tokens=160)
    assert "Tests: 14 failed" in pruned.text
    assert pruned.note == f"{pruned.text.count('failed')} of 6 totals shown"
    text = many(MOST_OUTCOMES * 2)
    pruned = prune_lines(text, np.zeros(len(split_lines(text))), path="run.log", threshold=1.0)
    assert pruned.failures == (MOST_OUTCOMES - 1, MOST_OUTCOMES * 2)
    assert pruned.note == f"{MOST_OUTCOMES - 1} of {MOST_OUTCOMES * 2} failures shown"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "def f():\n    # FAILED a.py::t - assert\n    return 1\n\n\ndef g():\n    return 2\n"),
        (
            "notes.txt",
            "What to do:\n\n1) buy milk\n2) call F. about AB123 things\n3) go home by 5/7 of the way\n",
        ),
        ("list.csv", "name,state\nerrors,3\nfailed,no\n"),
    ],
)
def test_other_texts_say_nothing_of_a_run(path: str, text: str) -> None:
    pruned = prune_lines(text, np.zeros(len(split_lines(text))), path=path, threshold=1.0, min_cut=0)
    assert pruned.failures == (0, 0)
    assert "outcome" not in pruned.reasons.values()


SHAPES = (
    "= 1 passed ",
    " ",
    "a > ",
    "| FAIL ",
    "1) ",
    "F.",
    "x::",
    "[ERROR] ",
    "a/b/",
    "exit code ",
    "1 a failed ",
    ":1: ",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_text(shape: str) -> None:
    """A line that is twice as long, and twice as many lines; the bound leaves room for a busy machine."""

    def seconds(characters: int, lines: int) -> float:
        text = [(shape * characters)[:characters] + "!\n"] * lines
        begin = time.process_time()
        outcome_of([f"{n} {line}" for n, line in enumerate(text)])
        return time.process_time() - begin

    seconds(10, 10)
    assert seconds(1000, 200) < 12 * seconds(250, 200) + 0.05
    assert seconds(250, 800) < 12 * seconds(250, 200) + 0.05


def test_the_table_has_no_other_columns() -> None:
    assert {column for tool in tools().values() for column in tool} == {
        "summary",
        "failure",
        "doubtful",
        "again",
    }


def test_without_repair_the_models_own_selection_stays_and_pages_show_why_others_do() -> None:
    text = many(3)
    pruned = prune_lines(
        text, np.eye(1, len(split_lines(text)))[0], path="run.log", threshold=1.0, repair=False
    )
    assert pruned.kept_lines == (1,)
    scores = np.zeros(len(split_lines(text)))
    pruned = prune_lines(text, scores, path="run.log", threshold=1.0)
    assert "\u25b2" in render_heat(text, pruned, scores, color=False)
    assert '"outcome"' in render_html(text, scores, path="run.log")
