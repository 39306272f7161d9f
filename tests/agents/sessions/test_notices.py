"""Every host's words for what it shortened: an example for each row of the table, in its place and nowhere else."""

import json
from pathlib import Path

import pytest
from lamr_agents.sessions.notices import NOTICES, Notice, TruncationInfo, gaps, stated
from lamr_agents.sessions.shown import framed

HEAD = "".join(f"def first_{n}(): return {n}\n" for n in range(30))
TAIL = "".join(f"def last_{n}(): return {n}\n" for n in range(30))

EXAMPLES: dict[str, list[tuple[str, TruncationInfo]]] = {"above": [], "between": [], "below": []}
"""Words as hosts write them, and what they say."""
for _row in Path(__file__).with_name("notices.jsonl").read_text(encoding="utf-8").splitlines():
    _where, _words, _said = json.loads(_row)
    EXAMPLES[_where].append((_words, TruncationInfo(**_said)))
ABOVE, BELOW = EXAMPLES["above"], EXAMPLES["below"]
BETWEEN = [words for words, _ in EXAMPLES["between"]]


@pytest.mark.parametrize("notice", NOTICES, ids=lambda notice: f"{notice.host}-{notice.where}")
def test_every_row_has_an_example(notice: Notice) -> None:
    assert any(notice.pattern.search(words) for words, _ in EXAMPLES[notice.where])


@pytest.mark.parametrize(("words", "said"), ABOVE)
def test_what_stands_above_a_text_is_none_of_it(words: str, said: TruncationInfo) -> None:
    before, text, after = framed(words + HEAD)
    assert (before, text.strip(), after) == (words, HEAD.strip(), "")
    assert stated(before, after) == said


@pytest.mark.parametrize(("words", "said"), BELOW)
def test_what_stands_below_a_text_is_none_of_it(words: str, said: TruncationInfo) -> None:
    before, text, after = framed(HEAD.rstrip("\n") + words)
    assert before + text + after == HEAD.rstrip("\n") + words
    assert not before
    assert text.removesuffix("\n...") == HEAD.rstrip("\n")
    assert stated(before, after) == said


@pytest.mark.parametrize("words", BETWEEN)
def test_what_stands_between_two_ends_is_a_gap_of_whole_lines(words: str) -> None:
    whole = HEAD[:-9] + words + TAIL[9:]
    (gap,) = gaps(whole)
    notice = whole[gap.start : gap.stop]
    assert words in notice
    assert whole[: gap.start] == "".join(HEAD.splitlines(keepends=True)[:-1])
    assert whole[gap.stop :] == "".join(TAIL.splitlines(keepends=True)[1:])


@pytest.mark.parametrize("between", ["", "x = 1", "x = 1\n"])
def test_two_notices_in_neighbouring_lines_are_one_gap(between: str) -> None:
    clip = BETWEEN[9]
    whole = HEAD + "a" + clip + between + clip + "b\n" + TAIL
    found = gaps(whole)
    assert "".join(whole[gap.start : gap.stop] for gap in found) == whole[len(HEAD) : -len(TAIL)]


def test_the_number_of_all_lines_is_read_between_as_well() -> None:
    assert stated(BETWEEN[2]) == TruncationInfo(None, 900)


def test_a_text_about_notices_has_no_gap() -> None:
    assert gaps("\n".join(f"{HEAD}{words}{TAIL}" for words in BETWEEN)) == []
    assert gaps(HEAD) == []


@pytest.mark.parametrize("words", [text for text, _ in ABOVE])
def test_what_a_host_says_above_counts_nowhere_else(words: str) -> None:
    whole = HEAD + words + TAIL
    assert framed(whole) == ("", whole.rstrip("\n"), "\n") or framed(whole) == ("", whole, "")
