"""Every host's words for what it shortened: an example for each row of the table, in its place and nowhere else."""

from __future__ import annotations

import pytest
from lamr_agents.sessions.notices import NOTICES, Notice, TruncationInfo, gaps, stated
from lamr_agents.sessions.shown import framed

HEAD = "".join(f"def first_{n}(): return {n}\n" for n in range(30))
TAIL = "".join(f"def last_{n}(): return {n}\n" for n in range(30))

ABOVE = [
    (
        "<system-reminder>[Truncated: PARTIAL view \u2014 showing lines 41-70 of 900 total (37387 tokens, "
        "cap 25000). Call "
        "Read with offset=71 limit=30 for the next page, or Grep to find a specific section.]</system-reminder>\n\n",
        TruncationInfo(41, 900),
    ),
    (
        "<system-reminder>\n[Truncated: PARTIAL view \u2014 /w/a[1].py: showing 30 of 900 lines. Call Read "
        "with offset/limit "
        "to page through.]\n</system-reminder>\n",
        TruncationInfo(),
    ),
    (
        "<persisted-output>\nOutput too large (97.3KB). Full output saved to: "
        "/h/s/tool-results/b.txt\n\nPreview (first "
        "2KB):\n",
        TruncationInfo(),
    ),
    (
        "Warning: truncated output (original token count: 181449)\nTotal output lines: 900\n\n",
        TruncationInfo(None, 900),
    ),
    ("Total output lines: 900\n\n", TruncationInfo(None, 900)),
    (
        "Chunk ID: b49f50\nWall time: 0.0028 seconds\nProcess exited with code 0\nOriginal token count: "
        "262144\nOutput:\n"
        "Total output lines: 900\n\n",
        TruncationInfo(None, 900),
    ),
    (
        "Output too large to read at once (39.1 KB). Saved to: /tmp/copilot-tool-output-1-a.txt\nConsider "
        "using tools like "
        "grep (for searching), head/tail (for viewing start/end), view with view_range (for specific "
        "sections), or jq "
        "(for JSON) to examine portions of the output.\n\nPreview (first 500 chars):\n",
        TruncationInfo(),
    ),
    (
        "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 41-70 of 900 total "
        "lines.\nAction: To read "
        "more of the file, you can use the 'start_line' and 'end_line' parameters in a subsequent "
        "'read_file' call. For "
        "example, to read the next section of the file, use start_line: 71.\n\n--- FILE CONTENT (truncated) ---\n",
        TruncationInfo(41, 900),
    ),
    (
        "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: "
        "/t/tool-outputs/a.txt\n",
        TruncationInfo(),
    ),
    (
        "<returncode>0</returncode>\n<warning>\nThe output of your last command was too long.\nPlease try a "
        "different "
        "command that produces less output.\n</warning>\n<output_head>\n",
        TruncationInfo(),
    ),
    (
        "...870 lines truncated...\n\nThe tool call succeeded but the output was truncated. Full output "
        "saved to: /h/t\n",
        TruncationInfo(tail=True),
    ),
    ("...output truncated...\n\nFull output saved to: /h/tool_1\n\n", TruncationInfo(tail=True)),
]
BETWEEN = [
    "\n\n... [412 lines truncated] ...\n\n",
    "\n\n... [41200 characters truncated] ...\n\n",
    "\n[... omitted 840 of 900 lines ...]\n\n",
    "\n[... output truncated to fit 10240 bytes ...]\n\n",
    "\u2026181249 tokens truncated\u2026",
    "\u202650 chars truncated\u2026",
    "\n\n... [1,234,567 characters omitted] ...\n\n",
    "\n\n... [1.234.567 characters omitted] ...\n\n",
    "\n</output_head>\n<elided_chars>\n88000 characters elided\n</elided_chars>\n<output_tail>\n",
    "<response clipped><NOTE>Due to the max output limit, only part of the full response has been shown to "
    "you.</NOTE>",
    "<response clipped><NOTE>Due to the max output limit, only part of this file has been shown to you. You "
    "should retry "
    "this tool after you have searched inside the file with `grep -n` in order to find the line numbers of "
    "what you are "
    "looking for.</NOTE>",
    "<response clipped><NOTE>Observations should not exceeded 100000 characters. 5000 characters were elided.</NOTE>",
    "\n[... Observation truncated due to length ...]\n",
]
BELOW = [
    ("\n</untrusted_context>", TruncationInfo()),
    ("\nExit Code: 1", TruncationInfo()),
    ("\n[Output truncated. Continue reading with offset: 305]", TruncationInfo()),
    (
        "\n\n<system-reminder>\n[Truncated: PARTIAL view \u2014 /w/a: b.py: showing lines 1-30 of 900 total (40000 "
        "tokens, cap 25000). Call Read with offset=31 limit=30 for the next page.]\n</system-reminder>",
        TruncationInfo(1, 900),
    ),
    ("\n\n... [412 lines truncated] ...", TruncationInfo()),
    ("\n...\n</persisted-output>", TruncationInfo()),
    ("\n</output_tail>", TruncationInfo()),
    (
        "\n\n...51200 bytes truncated...\n\nThe tool call succeeded but the output was truncated. Full "
        "output saved to: "
        "/h/tool-output/tool_c\nUse the Task tool to have explore agent process this file with Grep and Read (with "
        "offset/limit). Do NOT read the full file yourself - delegate to save context.",
        TruncationInfo(),
    ),
    ("\n\n...870 lines truncated...\n\nUse Grep to search the full content", TruncationInfo()),
    ("\n\n(End of file - total 900 lines)", TruncationInfo()),
    ("\n\n(Output capped at 50 KB. Showing lines 1-30. Use offset=31 to continue.)", TruncationInfo()),
    ("\n\n(Showing lines 1-30 of 900. Use offset=31 to continue.)", TruncationInfo()),
    ("\n\n(File has more lines. Use 'offset' parameter to read beyond line 30)", TruncationInfo()),
    ("\n\n[Showing lines 871-900 of 900. Full output: /tmp/pi-bash-1.log]", TruncationInfo(871, 900)),
    ("\n\n[Showing lines 1-30 of 900 (50KB limit). Use offset=31 to continue.]", TruncationInfo(1, 900)),
    ("\n\n[870 more lines in file. Use offset=31 to continue.]", TruncationInfo()),
    ("\n\n[Showing last 50KB of line 30 (line is 70KB). Full output: /tmp/pi-bash-1.log]", TruncationInfo()),
    ("\n<shellId: 0 completed with exit code 0>", TruncationInfo()),
]


def row_of(notice: Notice) -> bool:
    """Whether an example has the words of a row."""
    examples = {
        "above": [text for text, _ in ABOVE],
        "between": BETWEEN,
        "below": [text for text, _ in BELOW],
    }
    return any(notice.pattern.search(text) for text in examples[notice.where])


@pytest.mark.parametrize("notice", NOTICES, ids=lambda notice: f"{notice.host}-{notice.where}")
def test_every_row_has_an_example(notice: Notice) -> None:
    assert row_of(notice)


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
