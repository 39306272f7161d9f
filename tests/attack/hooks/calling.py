"""Calls as the host sends them, to the local server in this process or to the hook's own."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lamr_agents import thin
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.local.texts import Archive, Texts

from tests.agents.samples import CODE, pruner, session
from tests.attack.place import Place, Ran

NOBODY = 65534
NOT_TRIED = "needs root"
NOTE = r"\[lamr: not pruned: [\w]+: .{1,420}\]"
KEPT = "as it came"


def call(**more: Any) -> bytes:
    """What the host sends of a Read that shows much of a file."""
    file = {"filePath": "/w/a.py", "content": CODE, "numLines": 304, "startLine": 1, "totalLines": 304}
    given = {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/w",
        "tool_name": "Read",
        "tool_input": {"file_path": "/w/a.py"},
        "tool_response": {"type": "text", "file": file},
    }
    return json.dumps({**given, **more}).encode()


def showing(text: str, **more: Any) -> bytes:
    """A call whose result is a text."""
    return call(tool_response={"type": "text", "file": {"filePath": "/w/a.py", "content": text, **more}})


def said(answer: bytes) -> str:
    """What a hook's answer does, in a few words."""
    if answer in (b"", b"{}"):
        return "as it came"
    told = json.loads(answer, parse_constant=float.fromhex)["hookSpecificOutput"]
    words: str = told.get("additionalContext", "pruned")
    return words if words.isprintable() else f"CONTROL CHARACTERS {words!a}"


def transcript(place: Place) -> str:
    """The path of a session's log that says what is looked for."""
    path = place.folder / "log.jsonl"
    path.write_text("\n".join([*session().splitlines()[:2], ""]))
    return str(path)


def asked(place: Place, data: bytes) -> str:
    """What the local server makes of a call."""
    archive = Archive(Texts(place.folder / "own" / "texts.sqlite3"))
    server = LocalServer(
        place.folder / "own" / "s", Store(place.folder / "own" / "shown.sqlite3"), pruner, archive=archive
    )
    begin = time.monotonic()
    answer = said(server.answer(data))
    return answer if time.monotonic() - begin < 5 else f"HANGS: {answer}"


def hooked(place: Place, data: bytes, path: Path, *, limit: float = 2.0, **variables: str) -> str:
    """What the hook's process prints for a call."""
    command = [sys.executable, "-I", "-S", thin.__file__, "--socket", path, "--limit", str(limit)]
    return _words(place.run(*command, send=data, variables=variables))


def _words(ran: Ran) -> str:
    return said(ran.out) if ran.code == 0 and not ran.err else ran.said


def with_task(place: Place, change: Callable[[bytes], bytes]) -> str:
    """What the server makes of a call that is changed before it is sent."""
    return asked(place, change(call(transcript_path=transcript(place))))
