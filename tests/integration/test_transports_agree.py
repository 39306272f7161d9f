"""The same call keeps the same lines: in process and served, again, on a busy machine, with one thread or several."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from lamr_client import Pruner

from tests.integration.conftest import STDLIB
from tests.tiny import IN_FULL

FILES = [
    "signal.py",
    "netrc.py",
    "pty.py",
    "_threading_local.py",
    "glob.py",
    "copy.py",
    "importlib/abc.py",
    "shlex.py",
    "operator.py",
    "posixpath.py",
    "gzip.py",
    "trace.py",
    "plistlib.py",
    "sched.py",
    "getopt.py",
    "bisect.py",
    "subprocess.py",
    "queue.py",
    "heapq.py",
    "textwrap.py",
    "string.py",
    "csv.py",
    "calendar.py",
    "numbers.py",
    "json/decoder.py",
    "json/encoder.py",
    "hmac.py",
    "email/message.py",
    "fnmatch.py",
    "stat.py",
]
QUERIES = (
    "Where are invalid arguments detected, and which exceptions are raised for them?",
    "How does the main entry point use its helpers to build the result?",
)


@pytest.mark.server
@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in FILES])
def test_same_kept_lines(name: str, served: Pruner, in_process: Pruner) -> None:
    code = (STDLIB / name).read_bytes()
    assert 50 <= code.count(b"\n") <= 3000
    query = QUERIES[FILES.index(name) % 2]
    here = in_process.prune(query, code, path=name, **IN_FULL)
    there = served.prune(query, code, path=name, **IN_FULL)
    assert there.kept_lines == here.kept_lines
    np.testing.assert_allclose(there.line_scores, here.line_scores, atol=1e-3)
    assert there.text == here.text
    assert there.relevance == pytest.approx(here.relevance, abs=1e-3)


QUESTIONS = {
    "queue.py": "What happens in put() when the queue is full, with and without a timeout?",
    "subprocess.py": "How is a child process waited for with a timeout?",
    "tarfile.py": "How are links outside of the destination refused when members are extracted?",
}
BUDGETS = (400, None)
_APART = """
import json, sys
from lamr_client import Pruner
questions, folder, budgets = json.load(sys.stdin)
with Pruner() as pruner:
    asked = [(q, name, b) for name, q in questions.items() for b in budgets]
    texts = [pruner.prune(q, open(f"{folder}/{name}").read(), path=name, max_tokens=b).text for q, name, b in asked]
print(json.dumps(texts))
"""


def texts_of(pruner: Pruner) -> list[str]:
    return [
        pruner.prune(query, (STDLIB / name).read_text(encoding="utf-8"), path=name, max_tokens=budget).text
        for name, query in QUESTIONS.items()
        for budget in BUDGETS
    ]


def texts_apart(threads: int) -> list[str]:
    """What another process gives, with so many threads for the encoder."""
    asked = json.dumps([QUESTIONS, str(STDLIB), BUDGETS])
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", _APART],
        input=asked,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    texts: list[str] = json.loads(done.stdout)
    return texts


@pytest.mark.server
def test_one_text_however_it_is_asked_for(served: Pruner, in_process: Pruner) -> None:
    texts = texts_of(in_process)
    assert texts_of(served) == texts
    with ThreadPoolExecutor(2) as pool:
        assert all(each == texts for each in pool.map(texts_apart, (1, 4)))
    put = texts[0]
    assert put.count("raise Full") == 2
