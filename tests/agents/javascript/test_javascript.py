"""The files for OpenCode, pi and Cline: what they hand over, what they show, and what they say when something fails."""

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.host import Command, FileEntry
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import hook_command, shared_command
from lamr_agents.javascript import HOOK_OPENCODE, MOST_HEARD, hear
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.local.texts import Archive, Texts
from lamr_agents.policy import Policy
from lamr_agents.sessions import LogFormat
from lamr_agents.thin import AS_IT_CAME, SMALL

from tests.agents.samples import CODE, LINES, SAID, TASK, line_of, pruner
from tests.processes import eventually

DRIVER = Path(__file__).with_name("drive.mjs")
SECONDS = 120
"""Of one run of node, at the most."""


def _numbered(code: str) -> str:
    return "\n".join(f"{number}: {line}" for number, line in enumerate(code.rstrip("\n").split("\n"), 1))


def _in_tags(code: str) -> str:
    text = _numbered(code)
    end = f"\n\n(End of file - total {text.count(chr(10)) + 1} lines)\n</content>"
    return f"<path>/w/a.py</path>\n<type>file</type>\n<content>\n{text}{end}"


def _under_a_line(code: str) -> str:
    text = _numbered(code)
    return f"Read file a.py, lines 1-{text.count(chr(10)) + 1}\n{text}"


@dataclass(frozen=True)
class Generation:
    """One way in which a host calls its plugins."""

    name: str  # what the driver calls it
    host: str  # the host's name
    reader: Mapping[str, Any]  # the input of its tool that reads a whole file
    show: Callable[[str], str]  # what that tool shows of a file's code
    shell: str  # the tool that runs commands
    user: Callable[[str], Mapping[str, Any]]  # a message that says something
    assistant: Callable[[str], Mapping[str, Any]]
    compacted: Callable[[int], Mapping[str, Any]]  # the message of a compaction, at seconds since 1970
    shown_of: Callable[
        [Any], str | None
    ]  # the text of a printed call; None where the result stayed as it was

    @property
    def form(self) -> LogFormat:
        """Of its messages."""
        form = HOSTS[self.host].form
        assert form
        return form

    @property
    def shown(self) -> str:
        """What the tool that reads shows of `CODE`."""
        return self.show(CODE)

    def read(self, session: str = "s1", **more: Any) -> dict[str, Any]:
        """A read of the whole file."""
        return {"tool": "read", "session": session, "input": self.reader, "text": self.shown, **more}

    def said(self, task: str = TASK, words: str = SAID) -> list[Mapping[str, Any]]:
        """A session's messages: the user's and the assistant's."""
        return [self.user(task), self.assistant(words)]


def _info(role: str, *parts: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"info": {"id": "m", "role": role, "sessionID": "s1"}, "parts": list(parts)}


def _text(words: str, **more: Any) -> Mapping[str, Any]:
    return {"type": "text", "text": words, **more}


def _entry(role: str, words: str) -> Mapping[str, Any]:
    return {
        "type": "message",
        "id": "e",
        "parentId": None,
        "message": {"role": role, "content": [_text(words)]},
    }


OPENCODE_1 = Generation(
    "opencode1",
    "opencode",
    {"filePath": "/w/a.py"},
    _in_tags,
    "bash",
    lambda words: _info("user", _text("the file that it names", synthetic=True), _text(words)),
    lambda words: _info("assistant", {"type": "step-start"}, _text(words)),
    lambda at: {
        "info": {"id": "m", "role": "assistant", "summary": True, "time": {"created": 1000 * at}},
        "parts": [_text("What was done.")],
    },
    lambda result: result,
)
OPENCODE_2 = Generation(
    "opencode2",
    "opencode",
    {"path": "a.py"},
    _under_a_line,
    "shell",
    lambda words: {"type": "user", "id": "m", "text": words, "time": {"created": 1}},
    lambda words: {"type": "assistant", "id": "m", "content": [_text(words)], "agent": "build"},
    lambda at: {
        "type": "compaction",
        "status": "completed",
        "summary": "Done.",
        "time": {"created": 1000 * at},
    },
    lambda result: result["content"] if isinstance(result["content"], str) else result["content"][0]["text"],
)
PI = Generation(
    "pi",
    "pi",
    {"path": "a.py"},
    str,
    "bash",
    lambda words: _entry("user", words),
    lambda words: _entry("assistant", words),
    lambda at: {
        "type": "compaction",
        "summary": "Done.",
        "timestamp": f"{datetime.fromtimestamp(at, timezone.utc)}",
    },
    lambda result: None if result is None else result["content"][0]["text"],
)
GENERATIONS = (OPENCODE_1, OPENCODE_2, PI)


def node() -> str:
    """The program that runs JavaScript."""
    found = shutil.which("node")
    assert found, (
        "node isn't on the PATH, and the files for OpenCode and pi are JavaScript: install node 20 or later"
    )
    return found


def command(generation: Generation, socket: Path, limit: int = SECONDS) -> Command:
    """The hook's command, with a server that listens at a socket."""
    hook = HOSTS[generation.host].hook
    assert hook
    return hook_command(hook, ["--idle", "60"], socket, limit)


def play(
    folder: Path,
    generation: Generation,
    command: Command,
    calls: Sequence[Any],
    sessions: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Run calls of a hook's command, one after another; those of an inner list at once.

    Args:
        sessions: the messages of each session; default: of `s1` what `Generation.said` says.
        more: what else the driver takes.

    Returns:
        `results` and `milliseconds`, one a call, and what was `asked` of the host."""
    settings = HOSTS[generation.host].settings
    assert settings
    assert isinstance(settings.entry, FileEntry)
    file = folder / "lamr.mjs"
    file.write_text(settings.entry.make(command), encoding="utf-8")
    given = {
        "file": str(file),
        "generation": generation.name,
        "directory": "/w",
        "sessions": {"s1": generation.said()} if sessions is None else sessions,
        "calls": list(calls),
        **more,
    }
    done = subprocess.run(
        [node(), str(DRIVER)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    played: dict[str, Any] = json.loads(done.stdout)
    return played


def texts(generation: Generation, played: Mapping[str, Any]) -> list[str | None]:
    """What was shown of each call."""
    return [generation.shown_of(result) for result in played["results"]]


each = pytest.mark.parametrize("generation", GENERATIONS, ids=lambda generation: generation.name)
NOWHERE = Command(["/nowhere/lamr"])


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[Path]:
    """That of a local server with a model of one rule."""
    path, ready = tmp_path / "hook.sock", threading.Event()
    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        archive = Archive(Texts(tmp_path / "texts.sqlite3"))
        server = LocalServer(path, store, pruner, archive=archive, seconds=60.0, policy=Policy())
        thread = threading.Thread(target=server.run, kwargs={"ready": ready.set})
        thread.start()
        ready.wait()
        yield path
        server.stop()
        thread.join()


def writing(folder: Path, says: str = "{}", code: int = 0) -> Command:
    """A hook that keeps what it reads, and prints something."""
    program = (
        "import sys, pathlib; data = sys.stdin.read(); "
        f"pathlib.Path({str(folder / 'heard.json')!r}).write_text(data); print({says!r}); sys.exit({code})"
    )
    return Command([sys.executable, "-c", program])


def heard(folder: Path) -> dict[str, Any]:
    """What such a hook has read."""
    value: dict[str, Any] = json.loads((folder / "heard.json").read_text())
    return value


@each
def test_what_was_said_is_heard_from_the_hosts_own_messages(generation: Generation) -> None:
    messages = [*generation.said("Fix it.", "Where is it?"), *generation.said()]
    heard = hear(messages, generation.form)
    assert (heard.said, heard.task, heard.history) == (SAID, TASK, "Where is it?")
    for nonsense in (None, "x", [None, 1, "x", {"parts": 1}, {"type": "user", "text": {}}]):
        assert hear(nonsense, generation.form).said == ""


@each
def test_a_read_is_pruned_for_what_was_said_and_its_cut_comes_whole(
    tmp_path: Path, socket: Path, generation: Generation
) -> None:
    first = line_of("def handler_7(")
    ranged = generation.read(input={**generation.reader, "offset": first, "limit": 20}, text=CODE)
    again = {"tool": generation.shell, "session": "s1", "input": {"command": "cat a.py"}, "text": CODE}
    other = generation.read(session="s2")
    sessions = {"s1": generation.said(), "s2": generation.said()}
    calls = [generation.read(), ranged, again, other]
    shown, *passed, elsewhere = texts(
        generation, play(tmp_path, generation, command(generation, socket), calls, sessions)
    )
    assert shown
    assert "def handler_30(" in shown
    assert "value_7 =" not in shown
    assert len(shown) < len(CODE) / 2
    assert "of the lines 1-" in shown
    assert passed == ([CODE, CODE] if generation is not PI else [None, None])
    assert elsewhere == shown  # another session, such as a sub-agent's, has its own "shown before"


@each
def test_what_was_shown_before_the_context_was_compacted_is_shown_again(
    tmp_path: Path, socket: Path, generation: Generation
) -> None:
    hook, task = command(generation, socket), generation.user(TASK)
    for passed, at in ((False, 1), (True, 1), (False, int(time.time()) + 60)):
        sessions = {"s1": [task, generation.compacted(at), generation.assistant(SAID)]}
        (shown,) = texts(generation, play(tmp_path, generation, hook, [generation.read()], sessions))
        assert (
            shown == (None if generation is PI else generation.shown) if passed else " pruned" in str(shown)
        )


def test_the_numbers_of_an_output_that_the_host_shortened_are_the_files_or_missing(
    tmp_path: Path, socket: Path
) -> None:
    first = line_of("def handler_5(")
    tail = "".join(f"{line}\n" for line in LINES[first - 1 :])
    notice = "...output truncated...\n\nFull output saved to: /data/tool_1\n\n"
    call = {"tool": "bash", "session": "s1", "input": {"command": "cat a.py"}, "text": f"{notice}{tail}"}
    (shown,) = texts(OPENCODE_1, play(tmp_path, OPENCODE_1, command(OPENCODE_1, socket), [call]))
    assert shown
    assert shown.startswith(notice)
    assert "lines pruned: " in shown
    assert "of 273 lines are shown" in shown
    (tmp_path / "a.py").write_text("".join(f"{line}\n" for line in LINES))
    call = {**call, "session": "s3", "input": {"command": "cat a.py", "workdir": str(tmp_path)}}
    hook = command(OPENCODE_1, socket)
    (shown,) = texts(OPENCODE_1, play(tmp_path, OPENCODE_1, hook, [call], {"s3": OPENCODE_1.said()}))
    assert f"of the lines {first}-{len(LINES)} are shown" in str(shown)
    end = f"\n[Showing lines {first}-{len(LINES)} of {len(LINES)}. Full output: /tmp/pi-bash-1.log]"
    call = {**call, "session": "s2", "text": f"{tail}{end}"}
    (shown,) = texts(PI, play(tmp_path, PI, command(PI, socket), [call], {"s2": PI.said()}))
    assert shown
    assert shown.endswith(end)
    assert f"of the lines {first}-{len(LINES)} are shown" in shown
    assert "def handler_30(" in shown


def test_what_the_host_puts_around_stays(tmp_path: Path, socket: Path) -> None:
    (shown,) = texts(OPENCODE_1, play(tmp_path, OPENCODE_1, command(OPENCODE_1, socket), [OPENCODE_1.read()]))
    assert shown
    framed = OPENCODE_1.shown
    assert shown.startswith(framed[: framed.index("1: ")])
    assert shown.endswith(framed[framed.index("(End of file") :])
    number = line_of("value_30 =")
    assert f"\n{number}: {LINES[number - 1]}\n" in shown
    call = OPENCODE_2.read(metadata={"truncated": True})
    notice = "\n[Output truncated. Continue reading with offset: 305]"
    call["text"] += notice
    (shown,) = texts(OPENCODE_2, play(tmp_path, OPENCODE_2, command(OPENCODE_2, socket), [call]))
    assert shown
    assert shown.startswith("Read file a.py, lines 1-")
    assert shown.endswith(notice)


@each
def test_each_session_has_its_own_words_and_the_user_is_heard_however_long_ago(
    tmp_path: Path, generation: Generation
) -> None:
    long = [generation.assistant(f"step {number}") for number in range(300)]
    sessions = {
        "s1": [generation.user(TASK), *long, generation.assistant(SAID)],
        "s2": generation.said("Find the parser.", "It is in parse()."),
    }
    hook = writing(tmp_path)
    play(tmp_path, generation, hook, [generation.read()], sessions)
    words = json.dumps(heard(tmp_path)["messages"])
    assert TASK in words
    assert SAID in words
    play(tmp_path, generation, hook, [generation.read(session="s2")], sessions)
    call = heard(tmp_path)
    assert "It is in parse()." in json.dumps(call["messages"])
    assert TASK not in json.dumps(call["messages"])
    assert (call["session"], call["cwd"], call["tool"]) == ("s2", "/w", "read")
    assert (call["input"], call["text"]) == (generation.reader, generation.shown)


def test_a_long_session_is_asked_for_its_end_alone(tmp_path: Path) -> None:
    messages = [OPENCODE_1.user(TASK), *(OPENCODE_1.assistant(f"step {n}") for n in range(300))]
    hook, read = writing(tmp_path), OPENCODE_1.read()
    played = play(tmp_path, OPENCODE_1, hook, [read, read], {"s1": messages})
    assert played["asked"] == [100, "all", 100]
    assert TASK in json.dumps(heard(tmp_path)["messages"])
    said = {"session": "s1", "said": OPENCODE_1.user("Now the parser.")}
    played = play(tmp_path, OPENCODE_1, hook, [said, read], {"s1": messages[1:]})
    assert played["asked"] == [100]
    assert "Now the parser." in json.dumps(heard(tmp_path)["messages"][0])


def test_words_of_the_user_are_kept_over_a_compaction(tmp_path: Path) -> None:
    said = {"session": "s1", "said": "Now the parser."}
    sessions = {"s1": [{"type": "compaction", "summary": "…"}, OPENCODE_2.assistant(SAID)]}
    play(tmp_path, OPENCODE_2, writing(tmp_path), [said, OPENCODE_2.read()], sessions)
    assert [message["type"] for message in heard(tmp_path)["messages"]] == ["user", "compaction", "assistant"]


@each
def test_much_that_was_said_is_handed_over_in_part(tmp_path: Path, generation: Generation) -> None:
    big = [generation.assistant("x" * (MOST_HEARD // 3)) for _ in range(9)]
    messages = [
        generation.user("y" * (3 * MOST_HEARD)),
        generation.user(TASK),
        *big,
        generation.assistant(SAID),
    ]
    play(tmp_path, generation, writing(tmp_path), [generation.read()], {"s1": messages})
    kept = json.dumps(heard(tmp_path)["messages"])
    assert len(kept) < 2.2 * MOST_HEARD
    assert TASK in kept
    assert SAID in kept


@each
def test_small_results_and_other_tools_are_asked_nothing_about(
    tmp_path: Path, generation: Generation
) -> None:
    small = "x" * (SMALL // 2)
    calls = [generation.read(text=small), generation.read(tool="grep")]
    played = play(tmp_path, generation, NOWHERE, calls, broken="nobody is to ask")
    assert texts(generation, played) == ([None, None] if generation is PI else [small, generation.shown])


@each
def test_a_small_range_of_a_cut_counts_as_a_look_at_it(
    tmp_path: Path, socket: Path, generation: Generation
) -> None:
    ranged = {**generation.reader, "offset": 30, "limit": 3}
    calls = [generation.read(), generation.read(input=ranged, text=generation.show("\n".join(LINES[29:32])))]
    play(tmp_path, generation, command(generation, socket), calls)

    def looks() -> list[tuple[int, int]]:
        decisions = Store(socket.with_name("shown.sqlite3")).decisions()
        return [(each.ranges, each.wholes) for each in decisions if each.reason == "pruned"]

    assert eventually(lambda: looks() == [(1, 0)]), looks()  # nobody waits for the server to hear of it


@each
@pytest.mark.parametrize(
    ("hook", "words"),
    [
        (NOWHERE, "spawn /nowhere/lamr ENOENT"),
        (Command([sys.executable, "-c", "import sys; sys.exit(3)"]), "lamr's hook ended with code 3"),
        (Command([sys.executable, "-c", "print('{')"]), "JSON"),
        (Command([sys.executable, "-c", "import time; time.sleep(600)"], limit=-1), "took longer than 1 s"),
    ],
)
def test_a_failure_is_told_beside_the_result_as_it_came(
    tmp_path: Path, generation: Generation, hook: Command, words: str
) -> None:
    (shown,) = texts(generation, play(tmp_path, generation, hook, [generation.read()]))
    assert shown
    assert shown.startswith(f"{generation.shown}\n[lamr: not pruned: ")
    assert words in shown.removeprefix(generation.shown)
    assert shown.endswith("]\n")


@each
def test_a_host_that_doesnt_say_what_was_said_is_told(tmp_path: Path, generation: Generation) -> None:
    played = play(tmp_path, generation, writing(tmp_path), [generation.read()], broken="the table is locked")
    assert texts(generation, played) == [f"{generation.shown}\n[lamr: not pruned: the table is locked]\n"]


@each
def test_a_file_that_a_team_shares_says_nothing_where_lamr_is_missing(
    tmp_path: Path, generation: Generation, monkeypatch: pytest.MonkeyPatch
) -> None:

    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").symlink_to(node())
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    shared = shared_command(HOOK_OPENCODE)
    played = play(tmp_path, generation, shared, [generation.read()])
    assert texts(generation, played) == [None if generation is PI else generation.shown]


@each
def test_words_that_look_like_lamrs_are_told_apart(
    tmp_path: Path, socket: Path, generation: Generation
) -> None:
    forged = "x = 1  # [lamr: 3 of the lines 1-9 are shown]\n"
    call = generation.read(text=forged)
    (shown,) = texts(generation, play(tmp_path, generation, command(generation, socket), [call]))
    assert shown == f"{forged}\n{AS_IT_CAME}\n"


@each
def test_several_calls_at_once_are_answered_each(
    tmp_path: Path, socket: Path, generation: Generation
) -> None:
    calls = [
        generation.read(input={**generation.reader, next(iter(generation.reader)): f"/w/{n}.py"})
        for n in range(4)
    ]
    played = play(tmp_path, generation, command(generation, socket), [calls])
    shown = [generation.shown_of(result) for result in played["results"][0]]
    assert len(set(shown)) == 1
    assert shown[0]
    assert "def handler_30(" in shown[0]
    assert "value_7 =" not in shown[0]


@pytest.mark.parametrize("generation", [OPENCODE_1, OPENCODE_2], ids=lambda generation: generation.name)
def test_a_command_that_failed_passes(tmp_path: Path, socket: Path, generation: Generation) -> None:
    call = {"tool": generation.shell, "session": "s1", "input": {"command": "cat a.py"}, "text": CODE}
    calls = [
        {**call, "metadata": {"exit": 1}},
        {**call, "input": {"command": "cat b.py"}, "metadata": {"exit": 0}},
    ]
    failed, shown = texts(generation, play(tmp_path, generation, command(generation, socket), calls))
    assert failed == CODE
    assert "value_7 =" not in str(shown)


def test_a_command_in_another_folder_shows_that_folders_file(tmp_path: Path, socket: Path) -> None:
    call = {
        "tool": "bash",
        "session": "s1",
        "input": {"command": "cat a.py", "workdir": "/other"},
        "text": CODE,
    }
    played = play(tmp_path, OPENCODE_1, command(OPENCODE_1, socket), [call, OPENCODE_1.read()])
    assert all("value_7 =" not in str(shown) for shown in texts(OPENCODE_1, played))


def test_other_parts_and_errors_of_opencode_2_stay(tmp_path: Path, socket: Path) -> None:
    exit_code = {"type": "text", "text": "Command exited with code 0."}
    cat = {"tool": "shell", "session": "s1", "input": {"command": "cat a.py"}, "metadata": {"exit": 0}}
    call = {**cat, "content": [{"type": "text", "text": CODE}, exit_code]}
    image = OPENCODE_2.read(content=[{"type": "file", "uri": "data:", "mime": "image/png"}])
    failed = OPENCODE_2.read(status="error")
    played = play(tmp_path, OPENCODE_2, command(OPENCODE_2, socket), [call, image, failed])
    result, picture, error = played["results"]
    assert result["content"][1:] == [exit_code]
    assert "value_7 =" not in result["content"][0]["text"]
    assert result["output"] == "whole"
    assert picture["content"] == image["content"]
    assert error is None


def test_what_a_script_of_the_agents_gets_isnt_cut(tmp_path: Path, socket: Path) -> None:
    structured = PI.read(structuredContent=CODE, isError=False)
    calls = [
        PI.read(parentToolCallId="c0"),
        PI.read(isError=True),
        PI.read(
            content=[{"type": "text", "text": CODE}, {"type": "image", "data": "", "mimeType": "image/png"}]
        ),
        structured,
    ]
    *others, result = play(tmp_path, PI, command(PI, socket), calls)["results"]
    assert others == [None, None, None]
    assert result["structuredContent"] == CODE
    assert result["content"][0]["text"] != CODE


def test_a_turn_that_the_user_ends_doesnt_wait(tmp_path: Path) -> None:
    hook = Command([sys.executable, "-c", "import time; time.sleep(600)"], limit=500)
    (shown,) = texts(PI, play(tmp_path, PI, hook, [PI.read(abort=50)]))
    assert shown
    assert "not pruned: The operation was aborted" in shown


CLINE = replace(PI, name="cline", host="cline")


def test_each_file_of_a_call_of_clines_is_pruned_for_itself(tmp_path: Path, socket: Path) -> None:
    said = [
        {"role": "user", "content": [_text(f'<user_input mode="act">{TASK}</user_input>')]},
        {"role": "assistant", "content": [_text(SAID)]},
    ]
    shown = "\n".join(f"{number:3} | {line}" for number, line in enumerate(LINES, 1))
    results = [
        {"query": "q", "result": text, "success": good} for text, good in ((shown, True), (shown, False))
    ]
    read = {"tool": "read_files", "session": "s1", "output": [*results, results[0]]}
    read["input"] = {"files": [{"path": f"/w/{name}.py"} for name in "abc"]}
    cat = {"tool": "run_commands", "session": "s2", "input": {"commands": ["cat a.py"]}}
    cat["output"] = [{"query": "cat a.py", "result": CODE, "success": True}]
    others = [{**read, "tool": "editor"}, {**read, "isError": True}, {**read, "output": results}]
    played = play(tmp_path, CLINE, command(CLINE, socket), [read, cat, *others], {"s1": said, "s2": said})
    first, printed, *passed = played["results"]
    one, failed, other = first["result"]["output"]
    assert failed == results[1]
    for text in (one["result"], other["result"], printed["result"]["output"][0]["result"]):
        assert "def handler_30(" in text
        assert "value_7 =" not in text
    assert one["result"].count(" | ") < 60
    assert passed == [None, None, None]
