"""Outputs that a host shortened: its notice stays, and a number is the file's or isn't said."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lamr_agents import Known, intent_of, skim
from lamr_agents.claude_code import read_call
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.local.texts import Archive, Place, Texts
from lamr_agents.messages import Conversations
from lamr_agents.policy import PUT_ASIDE, Policy
from lamr_agents.sessions import Read
from lamr_agents.sessions.notices import TruncationInfo
from lamr_agents.skim import asked_for
from lamr_agents.skimmed import Skim
from lamr_client import Pruner
from lamr_client.mock_transport import MockTransport, uniform_answer

from tests.agents.samples import SAID, TASK, code_of, pruner
from tests.agents.test_claude_code import BASH, READ, ask, payload, said, transcript
from tests.agents.test_messages import openai, text_of

__all__ = ["transcript"]

FUNCTIONS = 400
CODE = code_of(FUNCTIONS)
LINES = CODE.splitlines()
NUMBERED = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(LINES, 1))
INTENT = intent_of(Known(said="I'll look at handler_30 and handler_380 first.", task=TASK))
ENDS = 9000
"""Characters that a host leaves of each end."""
LEFT_OUT = f"\n\n... [{CODE[ENDS:-ENDS].count(chr(10))} lines truncated] ...\n\n"
SHORT = CODE[:ENDS] + LEFT_OUT + CODE[-ENDS:]
_MARKER = re.compile(
    r"^[ \t]*(?:pass  )?# \.\.\. (?:(\d+)(?:-(\d+))?|(\d+) lines?) pruned(?: \((\d+)-(\d+)\))?", re.MULTILINE
)


def skimmed(text: str, path: str = "/w/a.py", **more: Any) -> Skim:
    with pruner() as asking:
        return skim(asking, asked_for(text, Read(path), intent=INTENT, **more), INTENT)


def markers(text: str) -> list[tuple[int, int, int]]:
    """Lines that each marker stands for, and the first and last number that it says; 0 where it says none."""
    said = []
    for match in _MARKER.finditer(text):
        first = int(match[1] or match[4] or 0)
        last = int(match[2] or match[5] or first)
        said.append((int(match[3] or last - first + 1), first, last))
    return said


def are_the_files(text: str) -> None:
    """Each number is that of the file's line: the line below a marker is the one after the last that it names."""
    lines = text.splitlines()
    checked = 0
    for row, line in enumerate(lines):
        for count, first, last in markers(line):
            if first:
                assert last - first + 1 == count
                below = lines[row + 1]
                left = below.partition("\u2026")[0]  # the line before a gap is a part of one
                after = LINES[last] if last < len(LINES) else "[lamr:"  # a marker may be the last line
                assert after.startswith(left) or below.startswith("[lamr:")
                checked += below == after
    assert checked


def test_numbers_are_the_files_where_the_host_says_how_many_lines_there_are() -> None:
    shown = skimmed(SHORT, stated=TruncationInfo(None, len(LINES)))
    assert LEFT_OUT in shown.text
    assert all(first for _, first, _ in markers(shown.text))
    are_the_files(shown.text)
    (_, end), (begin, last) = shown.numbers
    assert end < begin
    assert last == len(LINES)
    assert f"of the lines 1-{end}, {begin}-{last} are shown; read a range" in shown.text.splitlines()[-1]
    assert all(LINES[first - 1 : last] for first, last in shown.hidden)
    assert "def handler_380(" in shown.text
    assert "value_7 =" not in shown.text
    assert shown.tokens_out < shown.tokens_in / 2


def test_numbers_are_the_files_where_the_file_is_here() -> None:
    shown = skimmed(SHORT, whole=CODE)
    assert shown.text == skimmed(SHORT, stated=TruncationInfo(None, len(LINES))).text


@pytest.mark.parametrize(
    "whole", ["", CODE.replace("handler_399", "other"), CODE + "x = 1\n", "y = 1\n" + CODE, "\n" * 9, "x"]
)
def test_numbers_that_nobody_knows_are_left_out(whole: str) -> None:
    """Also where a file of this name is on this machine, and is another."""
    shown = skimmed(SHORT, whole=whole)
    assert LEFT_OUT in shown.text
    before, after = shown.text.split(LEFT_OUT)
    assert all(first for _, first, _ in markers(before))
    assert markers(after)
    assert not any(first for _, first, _ in markers(after))
    are_the_files(before)
    last = shown.text.splitlines()[-1]
    assert last.endswith(
        f" of {SHORT.count(chr(10))} lines are shown; read a range of lines to see what a marker stands for, or "
        "search the file for a name in it where it has no numbers]"
    )
    assert all(last < ENDS // 100 * 4 for _, last in shown.hidden)  # those of the beginning alone


def test_the_lines_at_the_edges_of_a_gap_stay_as_they_are() -> None:
    text = skimmed(SHORT).text
    edge, other = CODE[:ENDS].splitlines()[-1], CODE[-ENDS:].splitlines()[0]
    assert edge + LEFT_OUT + other in text


def test_a_listing_whose_numbers_run_on_over_a_gap_tells_no_lines() -> None:
    """Some editors number what is left after they took the middle out."""
    clip = "<response clipped><NOTE>Only part of this file has been shown to you.</NOTE>"
    left = (CODE[:ENDS] + clip + CODE[-ENDS:]).splitlines()
    view = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(left, 1))
    before, after = skimmed(view).text.split(clip)
    assert markers(before)
    assert all(first for _, first, _ in markers(before.replace("\t", " ")))
    assert not any(first for _, first, _ in markers(after.replace("\t", " ")))


def test_a_listing_that_leaves_numbers_out_keeps_them() -> None:
    numbered = NUMBERED.splitlines(keepends=True)
    first, last = "".join(numbered[:300]), "".join(numbered[-300:])
    text = skimmed(f"{first}\n... [1403 lines truncated] ...\n\n{last}").text
    assert all(begin for _, begin, _ in markers(text.replace("\t", " ")))
    assert max(last for _, _, last in markers(text.replace("\t", " "))) > 1800


def test_an_output_of_several_files_is_kept_as_it_came(tmp_path: Path) -> None:
    """The numbers are those of the text that `lamr show` prints."""
    archive = Archive(Texts(tmp_path / "texts.sqlite3"))
    with pruner() as asking:
        shown = skim(
            asking, asked_for(SHORT, Read("a.py"), intent=INTENT, name="a.py b.py"), INTENT, archive=archive
        )
    (place,) = re.findall(r"`lamr show (\w+:\d+-\d+)`", shown.text)
    assert LEFT_OUT in shown.text
    lines = SHORT.splitlines()
    for _, first, last in markers(shown.text):
        printed = archive.texts.lines(Place.parse(f"{place.partition(':')[0]}:{first}-{last}"))
        assert printed.splitlines() == lines[first - 1 : last]
        assert not {"value_30 =", "value_380 ="} & set(printed.split())


def test_the_end_of_an_output_has_the_numbers_that_the_host_says(tmp_path: Path) -> None:
    """pi leaves the end of what a command prints."""
    kept = LINES[-700:]
    notice = f"\n\n[Showing lines {len(LINES) - 699}-{len(LINES)} of {len(LINES)}. Full output: /tmp/pi-bash-1.log]"
    transport = MockTransport(lambda request: uniform_answer(request, 0.5))
    told = Conversations(Pruner(transport=transport), Texts(tmp_path / "sent"), Policy(threshold=0.45))
    text = text_of(told.pruned(openai("\n".join(kept) + notice))[-1])
    assert notice.strip() in text
    numbers = markers(text)
    assert numbers
    assert min(first for _, first, _ in numbers) > len(LINES) - 700
    are_the_files(text.replace(notice, ""))


def packed(text: str) -> str:
    return json.dumps({"output": text, "metadata": {"exit_code": 0}})


@pytest.mark.parametrize("wrap", [str, packed])
def test_codexs_shortened_outputs(tmp_path: Path, wrap: Any) -> None:
    total = f"Warning: truncated output (original token count: 26644)\nTotal output lines: {len(LINES)}\n\n"
    gap = "\u202621000 tokens truncated\u2026"
    transport = MockTransport(lambda request: uniform_answer(request, 0.5))
    told = Conversations(Pruner(transport=transport), Texts(tmp_path / "sent"), Policy(threshold=0.45))
    output = wrap(total + CODE[:ENDS] + gap + CODE[-ENDS:])
    sent = text_of(told.pruned(openai(output, "exec_command", cmd="cat a.py"))[-1])
    text = sent if wrap is str else json.loads(sent)["output"]
    assert text.startswith(total)
    assert gap in text
    assert all(first for _, first, _ in markers(text))
    are_the_files(text)


def test_claude_codes_shell_is_aligned_with_the_file_where_it_ran(
    tmp_path: Path, server: LocalServer, transcript: str
) -> None:
    given, output = {"command": "cd sub && cat a.py"}, {**BASH, "stdout": SHORT}
    where = {"transcript_path": transcript, "cwd": str(tmp_path / "sub")}
    before = said(ask(server, "Bash", given, output, **where))["updatedToolOutput"]["stdout"]
    assert not any(first for _, first, _ in markers(before.split(LEFT_OUT)[1]))  # a container's file, say
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").write_text(CODE, encoding="utf-8")
    where["session_id"] = "s2"
    shown = said(ask(server, "Bash", given, output, **where))["updatedToolOutput"]["stdout"]
    assert all(first for _, first, _ in markers(shown))
    are_the_files(shown)


@pytest.fixture
def server(tmp_path: Path) -> Any:
    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        yield LocalServer(tmp_path / "hook.sock", store, pruner, policy=Policy())


def test_a_page_of_a_long_file_keeps_the_number_by_which_the_host_says_what_to_read_next(
    server: LocalServer, transcript: str
) -> None:
    file = {
        **READ["file"],
        "content": CODE,
        "numLines": 2003,
        "totalLines": 5000,
        "truncatedByTokenCap": True,
    }  # type: ignore[dict-item]
    answer = ask(server, "Read", {"file_path": "/w/a.py"}, {**READ, "file": file}, transcript_path=transcript)
    shown = said(answer)["updatedToolOutput"]["file"]
    assert (shown["numLines"], shown["totalLines"], shown["truncatedByTokenCap"]) == (2003, 5000, True)
    assert len(shown["content"]) < len(CODE) / 2
    are_the_files(shown["content"])


CELLS = [
    {"cellType": "code", "source": CODE, "execution_count": 1, "cell_id": "cell-0", "language": "python"}
]
ASIDE = {"persistedOutputPath": "/h/.claude/projects/w/s/tool-results/b.txt", "persistedOutputSize": 99661}


@pytest.mark.parametrize(
    ("tool", "given", "response", "reason"),
    [
        ("Read", {"file_path": "/w/n.ipynb"}, {"type": "notebook", "file": {"cells": CELLS}}, "a notebook"),
        ("Read", {"file_path": "/w/i.png"}, {"type": "image", "file": {"base64": "x" * 9000}}, "an image"),
        ("Read", {"file_path": "/w/p.pdf"}, {"type": "pdf", "file": {"base64": "x" * 9000}}, "a PDF"),
        (
            "Read",
            {"file_path": "/w/p.pdf", "pages": "1-5"},
            {"type": "parts", "file": {"count": 5, "outputDir": "/t"}},
            "pages of a PDF",
        ),
        ("Bash", {"command": "cat i.png"}, {**BASH, "stdout": "x" * 9000, "isImage": True}, "an image"),
        ("Bash", {"command": "cat a.py"}, {**BASH, "stdout": CODE[:30_000], **ASIDE}, PUT_ASIDE),
        ("Bash", {"command": "cat a.py"}, {**BASH, "stdout": "\x7fELF\0\0" * 9000}, "binary"),
        ("Bash", {"command": "cat a.bin"}, {**BASH, "stdout": "\x7fELF\x02\ufffd" * 9000}, "not code"),
        (
            "Read",
            {"file_path": "/w/a.py", "offset": 100, "limit": 900},
            {**READ, "file": {**READ["file"], "content": CODE, "startLine": 100}},  # type: ignore[dict-item]
            "a range was asked for",
        ),
    ],
)
def test_what_passes_says_why(
    server: LocalServer, transcript: str, tool: str, given: Any, response: Any, reason: str
) -> None:
    assert ask(server, tool, given, response, transcript_path=transcript) == b""
    (decided,) = server._store.decisions()
    assert decided.reason == reason


def test_an_output_that_was_put_aside_is_no_first_look(server: LocalServer, transcript: str) -> None:
    """The agent has seen 2,000 characters of it."""
    output = {**BASH, "stdout": CODE[:30_000], **ASIDE}
    assert not ask(server, "Bash", {"command": "cat a.py"}, output, transcript_path=transcript)
    file = {**READ["file"], "content": CODE}  # type: ignore[dict-item]
    answer = ask(server, "Read", {"file_path": "/w/a.py"}, {**READ, "file": file}, transcript_path=transcript)
    assert "updatedToolOutput" in said(answer)


def test_a_range_from_the_beginning_is_numbered_from_there(transcript: str) -> None:
    given = {"file_path": "/w/a.py", "offset": 1, "limit": 2000}
    file = {**READ["file"], "content": CODE}  # type: ignore[dict-item]
    call = read_call(payload("Read", given, {**READ, "file": file}, transcript_path=transcript))
    assert call is not None
    with pruner() as asking:
        shown = skim(asking, call.asked, call.intent)
    are_the_files(shown.text)
    assert call.intent.query == SAID
