"""Hosts of JavaScript played by node: their file is as `lamr install` writes it, its events as the host has them.

Messages and events have the fields of the hosts' public types that the files read: `@opencode-ai/plugin` and
`@opencode-ai/sdk` 1.18.33, `packages/plugin` and `packages/schema` of OpenCode 2, and pi 1.3.0.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lamr_agents.host import Command, FileEntry
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import hook_command
from lamr_agents.sessions import LogFormat

from tests.agents.samples import CODE, SAID, TASK

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
    """One way in which a host calls its plugins.

    Attributes:
        name: what the driver calls it.
        host: the host's name.
        reader: the input of its tool that reads a whole file.
        show: what that tool shows of a file's code.
        shell: the tool that runs commands.
        user, assistant: a message that says something.
        compacted: the message that says that the context was compacted, at a time in seconds since 1970.
        shown_of: the text in what the driver prints of a call; None where the file left the result as it was.
    """

    name: str
    host: str
    reader: Mapping[str, Any]
    show: Callable[[str], str]
    shell: str
    user: Callable[[str], Mapping[str, Any]]
    assistant: Callable[[str], Mapping[str, Any]]
    compacted: Callable[[int], Mapping[str, Any]]
    shown_of: Callable[[Any], str | None]

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
    """Run calls, one after another; those of an inner list at once.

    Args:
        folder: where the file is written.
        generation: who calls.
        command: of the hook.
        calls: their fields.
        sessions: the messages of each session; default: of `s1` what `Generation.said` says.
        more: what else the driver takes.

    Returns:
        `results` and `milliseconds`, one a call, and what was `asked` of the host.
    """
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
