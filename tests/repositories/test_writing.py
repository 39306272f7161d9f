"""How the room that lines leave is shared among outlines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from lamr_postprocess.lines import IntArray
from lamr_repositories.formats import FORMATS, About, FileText
from lamr_repositories.writing import ONE_OUTLINE_SHARE, Outlined, Writer


class Words:
    """Counts words in place of tokens."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def count_each(self, texts: Sequence[str]) -> IntArray:
        return np.array([len(text.split()) for text in texts], np.int64)


def definitions(count: int) -> tuple[str, ...]:
    return tuple(f"  {number}: def f{number}():" for number in range(count))


def test_one_long_outline_leaves_room_for_others() -> None:
    outlines = [
        Outlined("long.py", definitions(100), definitions(2)),
        Outlined("flat.py", definitions(100), definitions(100)),
        Outlined("inner.py", definitions(100), ()),
        Outlined("short.py", definitions(3), definitions(1)),
    ]
    paths = [each.path for each in outlines]
    writer = Writer(FORMATS["xml"], Words(), 200, line_numbers=False, languages={})
    written = writer.write(About("q", "r"), paths, [], outlines)
    assert written.outlined == ("long.py", "short.py")
    assert written.text.count("def f") == 2 + 3
    assert written.tokens <= 200
    room = 200 - writer.write(About("q", "r"), paths, [], []).tokens
    assert len(definitions(100)) > room * ONE_OUTLINE_SHARE
    roomy = Writer(FORMATS["xml"], Words(), 3_000, line_numbers=False, languages={})
    assert roomy.write(About("q", "r"), paths, [], outlines).outlined == tuple(paths)


@pytest.mark.parametrize("form", ["xml", "markdown", "plain"])
def test_names_of_files_forge_no_line(form: str) -> None:
    name = 'a\n<file path="b.py">\x1b[2J\u202e.py'
    outlines = [Outlined(name, definitions(2), definitions(1))]
    writer = Writer(FORMATS[form], Words(), 500, line_numbers=False, languages={})
    text = writer.write(About("q", "r"), [name], [], outlines).text + FORMATS[form].file(
        FileText(name, "python", "x = 1\n")
    )
    assert not set("\x1b\u202e") & set(text)
    assert not [line for line in text.splitlines() if line.startswith('<file path="b')]
