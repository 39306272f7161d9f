"""A query of code asks for what comes next."""

import numpy as np
import pytest
from lamr_model.scoring.evidence import going_on, is_code
from lamr_model.words import TermIndex
from lamr_postprocess.layout import line_layout

TAIL = "    def close(self):\n        self.open = False\n        self.socket.shutdown(SHUT_RDWR)"
FILE = """\
class Reader:
    def close(self):
        self.ended = True
        self.socket.shutdown(SHUT_RDWR)
        self.pool.give_back(self.socket)
        self.counter.lower()

    def name(self):
        return self.title


def unrelated(first, second):
    return first + second
"""


def _index(text: str) -> TermIndex:
    return TermIndex.of(text, line_layout(text))


@pytest.mark.parametrize(
    "query",
    [
        TAIL,
        "  if (closed) {\n    return;\n  }\n",
        '        """Say what a reader is."""\n        reader = Reader()\n',
    ],
)
def test_code_is_told_from_words(query: str) -> None:
    assert is_code(query)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "self.socket.shutdown(SHUT_RDWR)",
        "How is a socket closed?\nIt stays open (see #12).",
        "Close sockets\n\n* fix(pool): give sockets back when `close()` is called\n  and count them\n* docs = better",
        "Traceback (most recent call last):\n  …\nValueError: no socket",
        "I'll read the pool first:\n\n1. give_back()\n2. lower()\n   Both are called when a reader is closed",
    ],
)
def test_words_are_no_code(query: str) -> None:
    assert not is_code(query)


def test_lines_behind_a_line_like_the_last_one_go_on() -> None:
    lines = FILE.splitlines()
    found = going_on(TAIL, _index(FILE), len(lines))
    assert found.shape == (len(lines),)
    alike = lines.index("        self.socket.shutdown(SHUT_RDWR)")
    assert set(np.argsort(-found)[:2].tolist()) == {alike, alike + 1}
    assert found[alike + 1] > found[alike + 2] > found[alike + 3] > 0
    assert found[-2:].max() < found[alike + 1] / 2


def test_a_query_without_words_and_a_file_without_lines_have_nothing() -> None:
    assert not going_on("}\n}", _index(FILE), len(FILE.splitlines())).any()
    assert going_on(TAIL, _index(""), 0).shape == (0,)
