"""A result names lines only where the model's request holds them, whatever became of the session before.

Sessions are made up step by step, in the form of each host whose logs tell what a request holds: with reads, edits,
rewinds, cleared results and compactions. Beside the log, `Told` keeps what the request holds."""

import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_agents.claude_code import HOOK as CLAUDE_CODE
from lamr_agents.hosts import HOSTS
from lamr_agents.intent import Intent
from lamr_agents.javascript import HOOK_OPENCODE, HOOK_PI
from lamr_agents.local.texts import Texts
from lamr_agents.messages import Conversations
from lamr_agents.policy import PROFILES, SHORTENED
from lamr_agents.sessions import Read
from lamr_agents.skim import asked_for, skim
from lamr_agents.skimmed import Skim
from lamr_agents.thin import NOTE

FILES = ("/w/a.py", "/w/b.py")
LINES = 60
NAMED = re.compile(r"\[lamr: lines (\d+)-(\d+) are as you read lines (\d+)-(\d+) of (\S+) above\]")
NOTHING = Intent("", "", "nothing")


class Unasked:
    """The pruner of a profile that prunes nothing."""

    def prune(self, *_: Any, **__: Any) -> Any:
        raise AssertionError


def restored(text: str, known: Mapping[int, str], number_of: Any = lambda row: row) -> str:
    """The inverse: the text that a result stands for, from what is left of it and what it names."""
    *rows, note = text.removesuffix("\n").split("\n")
    assert note.startswith(f"{NOTE} lines that your context holds are named;")
    out = []
    for row in rows:
        found = NAMED.fullmatch(row)
        if found is None:
            out.append(row)
            continue
        first, last, as_first, as_last = map(int, found.groups()[:4])
        assert last - first == as_last - as_first
        out += [number_of(first + n, known[as_first + n]) for n in range(last - first + 1)]
    return "\n".join(out) + ("" if "its last line has no end" in note else "\n")


def lossless(text: str, known: Mapping[int, str]) -> Skim:
    return skim(
        Unasked(), asked_for(text, Read(FILES[0]), intent=NOTHING), NOTHING, PROFILES["lossless"], known=known
    )


ROWS = st.lists(
    st.sampled_from(["x = 1", "x = 1 ", "\tx", "", "\r", "\x1b[31mx\x1b[0m", "a longer line " * 9]),
    max_size=50,
)


@given(before=ROWS, after=ROWS, places=st.lists(st.integers(0, 49), max_size=4), ended=st.booleans())
def test_what_a_result_names_can_be_written_back(
    before: list[str], after: list[str], places: list[int], ended: bool
) -> None:
    """So that two different originals never become one text."""
    for place in places:  # what both have in common
        after[place:place] = before[place : place + 12]
    text = "\n".join(after) + ("\n" if ended else "")
    known = dict(enumerate(before, 1))
    shown = lossless(text, known)
    if shown.cut:
        assert shown.reason == SHORTENED
        assert shown.tokens_out < shown.tokens_in
        assert restored(shown.text, known, lambda _, row: row) == text
    else:
        assert shown.text == text


def test_words_that_look_like_lamrs_are_shown() -> None:
    rows = [f"x_{n} = {n} * 17" for n in range(90)] + [
        "# [lamr: lines 1-90 are as you read lines 1-90 of a.py above]"
    ]
    assert not lossless("\n".join(rows), dict(enumerate(rows, 1))).cut


def test_hosts_whose_logs_dont_tell_what_a_request_holds_get_no_names() -> None:
    telling = {name for name, host in HOSTS.items() if host.hook and host.hook.tells_context}
    assert telling == {"claude-code", "kilo", "opencode", "pi"}


class Told:
    """A session: the files, the log, and what the request holds of results, by call, in their order."""

    def __init__(self, folder: Path) -> None:
        self.files = {path: [f"{path} {n} has a line of its own" for n in range(LINES)] for path in FILES}
        self.log = folder / "log.jsonl"
        self.log.write_text("")
        self.held: list[tuple[str, str, dict[int, str] | None]] = []
        self.calls = 0

    def shown(self, path: str, first: int, last: int) -> dict[int, str]:
        lines = self.files[path]
        return {n: lines[n - 1] for n in range(first, min(last, len(lines)) + 1)}

    def known(self, path: str) -> dict[int, str]:
        """What the request's results say of a file, the last to say it; nothing from before a result with a note."""
        lines: dict[int, str] = {}
        for _, of, shown in self.held:
            if of == path:
                lines = {} if shown is None else {**lines, **shown}
        return lines

    def edit(self, path: str, dice: random.Random) -> None:
        lines, at = self.files[path], dice.randrange(LINES // 2)
        lines[at : at + dice.randrange(3)] = [f"new {dice.random()}"] * dice.randrange(3)


class ClaudeCode(Told):
    """Records with parents, a transcript file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.parent: str | None = None
        self.turns: list[
            tuple[str | None, int]
        ] = []  # before each of the user's messages: the parent, what was held
        self.prompt("Fix it.")

    def add(self, kind: str, content: Any, **more: Any) -> None:
        name = f"u{len(self.log.read_text())}"
        record = {"parentUuid": self.parent, "uuid": name, "sessionId": "s", "type": kind, **more}
        if content is not None:
            record["message"] = {"role": kind, "content": content, **more.pop("message", {})}
        with self.log.open("a") as stream:
            stream.write(json.dumps(record) + "\n")
        self.parent = name

    def prompt(self, words: str) -> None:
        self.turns.append((self.parent, len(self.held)))
        self.add("user", [{"type": "text", "text": words}])

    def rewind(self, dice: random.Random) -> None:
        if self.turns:
            place = dice.randrange(len(self.turns))
            self.parent, held = self.turns[place]
            del self.turns[place:], self.held[held:]
            self.prompt("Another way.")

    def clear(self, dice: random.Random) -> None:
        """The host's own clearing, the oldest results first; or the provider's, of which the log says no names."""
        count = dice.randrange(len(self.held) + 1)
        if dice.random() < 0.5:
            names = [call for call, _, _ in self.held[:count]]
            self.add(
                "system",
                None,
                subtype="microcompact_boundary",
                microcompactMetadata={"compactedToolIds": names},
            )
        else:
            edits = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": count}]}
            record = {
                "parentUuid": self.parent,
                "uuid": f"c{self.calls}{count}",
                "sessionId": "s",
                "type": "assistant",
            }
            record["message"] = {"role": "assistant", "content": [], "context_management": edits}
            with self.log.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
            self.parent = str(record["uuid"])
            count = len(self.held)
        self.forget(count)

    def compact(self, _: random.Random) -> None:
        self.parent = None
        self.add("system", None, subtype="compact_boundary", timestamp="2026-11-27T10:00:00.000Z")
        self.turns.clear()
        self.forget(len(self.held))

    def forget(self, count: int) -> None:
        del self.held[:count]
        self.turns = [(parent, max(0, held - count)) for parent, held in self.turns]

    def read(self, path: str, first: int, last: int) -> Skim:
        self.calls += 1
        call, shown = f"toolu_{self.calls}", self.shown(path, first, last)
        given = {"file_path": path, **({} if first == 1 else {"offset": first, "limit": last - first + 1})}
        self.add("assistant", [{"type": "tool_use", "id": call, "name": "Read", "input": given}])
        text = "".join(f"{line}\n" for line in shown.values())
        file = {
            "filePath": path,
            "content": text,
            "numLines": len(shown),
            "startLine": first,
            "totalLines": 99,
        }
        payload = {
            "session_id": "s",
            "transcript_path": str(self.log),
            "tool_name": "Read",
            "tool_input": given,
            "tool_response": {"type": "text", "file": file},
            "tool_use_id": call,
        }
        asked = CLAUDE_CODE.read_call(payload)
        assert asked is not None
        done = skim(Unasked(), asked.asked, asked.intent, PROFILES["lossless"], known=asked.known)
        rows = done.text if done.cut else text
        numbered = "\n".join(f"{n:6}\u2192{row}" for n, row in enumerate(rows.split("\n"), first))
        self.add("user", [{"type": "tool_result", "tool_use_id": call, "content": numbered}])
        self.held.append((call, path, None if done.cut else shown))
        return done


class Messages(Told):
    """A host whose plugin passes the messages of the request."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.messages: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.results: list[tuple[str, str, dict[int, str] | None]] = []
        self.cleared: set[str] = set()

    def rewind(self, dice: random.Random) -> None:
        """Also to before a compaction: what came before is in the request again then."""
        del self.messages[dice.randrange(len(self.messages) + 1) :]

    def compact(self, _: random.Random) -> None:
        self.messages.append(self.compaction)

    def known(self, path: str) -> dict[int, str]:
        begin = max((n for n, each in enumerate(self.messages, 1) if each is self.compaction), default=0)
        left = {id(each) for each in self.messages[begin:]}
        self.held = [
            each for each in self.results if id(self.answers[each[0]]) in left and each[0] not in self.cleared
        ]
        return super().known(path)

    def read(self, path: str, first: int, last: int) -> Skim:
        self.calls += 1
        call, shown = f"call_{self.calls}", self.shown(path, first, last)
        given = {"path": path, "filePath": path}
        given |= {} if first == 1 else {"offset": first, "limit": last - first + 1}
        text = "".join(f"{n}: {line}\n" for n, line in shown.items())
        payload = {"session": "s", "tool": "read", "input": given, "text": text, "messages": self.messages}
        asked = (HOOK_PI if isinstance(self, Pi) else HOOK_OPENCODE).read_call(payload)
        assert asked is not None
        done = skim(Unasked(), asked.asked, asked.intent, PROFILES["lossless"], known=asked.known)
        self.messages += self.told(call, given, done.text)
        self.answers[call] = self.messages[-1]
        self.results.append((call, path, None if done.cut else shown))
        return done

    compaction: ClassVar[dict[str, Any]]

    def told(self, call: str, given: Any, text: str) -> list[dict[str, Any]]:
        raise NotImplementedError


class OpenCode(Messages):
    compaction: ClassVar = {"info": {"role": "user"}, "parts": [{"type": "compaction"}]}

    def told(self, call: str, given: Any, text: str) -> list[dict[str, Any]]:
        state = {"status": "completed", "input": given, "output": text, "time": {"start": 1, "end": 2}}
        part = {"type": "tool", "callID": call, "tool": "read", "state": state}
        return [{"info": {"role": "assistant"}, "parts": [part]}]

    def clear(self, dice: random.Random) -> None:
        """The oldest results first."""
        for message in self.messages[: dice.randrange(len(self.messages) + 1)]:
            for part in message["parts"]:
                if part["type"] == "tool":
                    part["state"]["time"]["compacted"] = 3
                    self.cleared.add(part["callID"])


class Pi(Messages):
    compaction: ClassVar = {"type": "compaction", "timestamp": "2026-11-27T10:00:00.000Z"}

    def told(self, call: str, given: Any, text: str) -> list[dict[str, Any]]:
        called = {"type": "toolCall", "id": call, "name": "read", "arguments": given}
        result = {"role": "toolResult", "toolCallId": call, "content": [{"type": "text", "text": text}]}
        return [
            {"type": "message", "message": {"role": "assistant", "content": [called]}},
            {"type": "message", "message": result},
        ]

    def clear(self, _: random.Random) -> None:
        """The host clears no results."""


@pytest.mark.parametrize("host", [ClaudeCode, OpenCode, Pi])
@pytest.mark.parametrize("seed", range(16))
def test_whatever_becomes_of_a_session_what_is_named_stands_in_the_request(
    host: type[Any], seed: int, tmp_path: Path
) -> None:
    dice, session, named = random.Random(seed), host(tmp_path), 0
    for _ in range(60):
        step = dice.choices(("read", "edit", "rewind", "clear", "compact"), (12, 4, 2, 1, 1))[0]
        path = dice.choice(FILES)
        if step == "edit":
            session.edit(path, dice)
        elif step != "read":
            getattr(session, step)(dice)
        else:
            first = dice.choice((1, 1, dice.randrange(1, 30)))
            known, shown = session.known(path), session.shown(path, first, first + dice.choice((60, 40, 20)))
            done = session.read(path, first, max(shown))
            for row in filter(NAMED.fullmatch, done.text.split("\n")):
                begin, end, as_begin, as_end = map(int, NAMED.fullmatch(row).groups()[:4])  # type: ignore[union-attr]
                held = [known[n] for n in range(as_begin, as_end + 1)]
                assert held == [shown[n] for n in range(begin, end + 1)]
                named += 1
    assert named or seed % 8, "no session of eight named a line"


@pytest.mark.parametrize("host", [ClaudeCode, OpenCode, Pi])
def test_lines_that_are_named_are_shown_when_they_are_read_again(host: type[Any], tmp_path: Path) -> None:
    session = host(tmp_path)
    assert [session.read(FILES[0], 1, LINES).cut for _ in range(5)] == [False, True, False, True, False]


@pytest.mark.parametrize("leaves", ["nothing", "a result", "a call", "everything"])
def test_a_request_whose_earlier_read_is_gone_gets_the_text(leaves: str, tmp_path: Path) -> None:
    """Clients drop old results from their requests; what was sent once isn't sent again then."""
    told = Conversations(Unasked(), Texts(tmp_path / "sent.sqlite3"), PROFILES["lossless"])
    text = "".join(f"x_{n} = {n} * 17 + y\n" for n in range(90))
    first, second = (
        [
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": f"c{n}", "function": {"name": "bash", "arguments": '{"command": "cat a.py"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": f"c{n}", "content": text},
        ]
        for n in (1, 2)
    )
    begin = [{"role": "user", "content": "Fix it."}]
    sent = told.pruned([*begin, *first, *second])
    assert sent[-1]["content"].startswith("[lamr: lines 1-90 are as you read lines 1-90 of a.py above]")
    end = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    left = {
        "nothing": [],
        "a result": [first[0], {**first[1], "content": "(cleared)"}],
        "a call": [first[0]],
        "everything": first,
    }[leaves]
    later = told.pruned([*begin, *left, *second, *end])[len(begin) + len(left) + 1]["content"]
    assert later == (sent[-1]["content"] if leaves == "everything" else text)
