"""A session's log is read from its end, in bounded steps, and only where it is a regular file."""

import json
import os
from pathlib import Path

import pytest
from lamr_agents import transcript
from lamr_agents.claude_code import hear

from tests.agents.samples import SAID, TASK, session

FIRST, *REST = session().splitlines(keepends=True)
PAD = json.dumps({"message": {"role": "user", "content": [{"type": "tool_result", "content": "y" * 4000}]}})
OTHER = json.dumps(
    {"message": {"role": "user", "content": "Now do something else, which nobody has asked for."}}
)


def padding(megabytes: int) -> str:
    return f"{PAD}\n" * ((megabytes << 20) // len(PAD) + 1)


def heard(tmp_path: Path, *parts: str) -> tuple[str, str]:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(parts), encoding="utf-8")
    found = hear(path)
    return found.task, found.said


@pytest.mark.parametrize("megabytes", [0, 2, 10])
def test_the_users_last_words_are_found_within_the_steps(tmp_path: Path, megabytes: int) -> None:
    assert heard(tmp_path, OTHER, "\n", FIRST, padding(megabytes), REST[0]) == (TASK, SAID)


def test_beyond_them_the_sessions_first_task_counts(tmp_path: Path) -> None:
    parts = (FIRST, padding(2), OTHER, "\n", padding(transcript.STEPS_BACK + 2), REST[0])
    assert heard(tmp_path, *parts) == (TASK, SAID)


def test_no_more_is_read_than_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as stream:
        stream.write(FIRST.encode())
        stream.truncate(10 << 30)
    ends = []
    step = transcript._step
    monkeypatch.setattr(transcript, "_step", lambda stream, end: ends.append(end) or step(stream, end))
    assert hear(path).task == TASK
    assert len(ends) == 1 + transcript.STEPS_BACK
    assert ends[0] - ends[-1] == transcript.STEPS_BACK * transcript.STEP_BYTES


@pytest.mark.parametrize(
    "length", [transcript.STEP_BYTES - 1, transcript.STEP_BYTES, 3 * transcript.STEP_BYTES]
)
def test_a_line_as_long_as_a_step_doesnt_stop_the_way_back(tmp_path: Path, length: int) -> None:
    assert heard(tmp_path, FIRST, REST[0], "[" * length, "\n")[0] == TASK


def test_many_short_lines_are_looked_at_in_parts(tmp_path: Path) -> None:
    assert heard(tmp_path, FIRST, "{}\n" * (3 * transcript.MOST_LINES), REST[0]) == (TASK, SAID)


def test_what_is_no_regular_file_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, Path("/dev/zero"), Path("a\0b"), Path("\ud800")):
        assert hear(path).task == ""


def test_a_link_to_a_log_is_followed(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(FIRST)
    (tmp_path / "link").symlink_to(tmp_path / "log")
    assert hear(tmp_path / "link").task == TASK
