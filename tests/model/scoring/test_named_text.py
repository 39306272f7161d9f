"""Lines of a log are named by the times, numbers and identifiers that they hold."""

import numpy as np
import pytest
from lamr_model.scoring.named_lines import named_text, placed_lines
from lamr_postprocess.lines import line_spans
from lamr_postprocess.listing import read_listing

from tests.timing import growth

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


def test_nothing_is_named_in_nothing() -> None:
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
