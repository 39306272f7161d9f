"""In process and through Triton, the same lines are kept: 30 standard-library files, asked two questions in turn."""

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


def test_enough_files() -> None:
    assert len(set(FILES)) == 30
