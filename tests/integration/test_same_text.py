"""The same call gives the same text: again, on a busy machine, with one thread or several, in process and served."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from lamr_client import Pruner

from tests.integration.conftest import STDLIB

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
