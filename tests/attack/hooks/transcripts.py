"""Logs of sessions: what is no file, what has no end, and what stands in it."""

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lamr_agents.claude_code import hear

from tests.agents.samples import SAID, TASK, session
from tests.attack.case import Case
from tests.attack.place import Place

SPOKEN = session().splitlines()[0]
LINE = json.dumps(
    {"type": "x", "message": {"role": "assistant", "content": [{"type": "text", "text": SAID}]}}
)
MiB = 1 << 20


_AT_MOST = 66.0
"""Times what `_pace` takes: about three seconds of an idle core. What grows with the square takes minutes."""


def _pace() -> float:
    """Return the CPU seconds of a fixed piece of work: a busy machine slows it as it slows what is measured."""
    begin = time.process_time()
    sum(len(json.dumps({"n": n})) for n in range(20_000))
    return time.process_time() - begin


def _heard(make: Callable[[Path], Any]) -> Callable[[Place], str]:
    """What is heard in a transcript, and whether that takes long."""

    def attempt(place: Place) -> str:
        path = place.folder / "log.jsonl"
        make(path)
        pace, begin = _pace(), time.process_time()
        heard = hear(path)
        slow = "SLOW " if time.process_time() - begin > _AT_MOST * max(pace, _pace()) else ""
        task = {TASK: "the task", "": "nothing"}.get(heard.task, heard.task[:60])
        return f"{slow}{task}; said {heard.said == SAID}"

    return attempt


def _with(*lines: str) -> Callable[[Path], Any]:
    """A transcript with the task before the lines, and what was said after them."""
    return lambda path: path.write_bytes(
        "\n".join([SPOKEN, *lines, LINE, ""]).encode("utf-8", "surrogatepass")
    )


def _grown(
    megabytes: int, line: bytes = b'{"type": "x", "pad": "' + b"y" * 4000 + b'"}\n'
) -> Callable[[Path], Any]:
    def make(path: Path) -> None:
        with path.open("wb") as stream:
            stream.write(SPOKEN.encode() + b"\n")
            for _ in range(megabytes):
                stream.write(line * (MiB // len(line)))
            stream.write(LINE.encode() + b"\n")

    return make


def _sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.write(SPOKEN.encode() + b"\n")
        stream.truncate(10 << 30)


def _growing(path: Path) -> None:
    """Somebody writes on while it is read."""
    _with()(path)

    def write() -> None:
        for _ in range(200):
            with contextlib.suppress(OSError), path.open("a") as stream:
                stream.write(LINE + "\n")

    threading.Thread(target=write).start()


def _user(words: Any) -> str:
    return json.dumps({"message": {"role": "user", "content": words}})


HEARD, NOTHING = "the task; said True", "nothing; said False"
TRANSCRIPTS: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    "is a FIFO": (os.mkfifo, NOTHING),
    "is a folder": (Path.mkdir, NOTHING),
    "is a link to a device": (lambda path: path.symlink_to("/dev/zero"), NOTHING),
    "is a link to memory": (lambda path: path.symlink_to("/proc/self/mem"), NOTHING),
    "is a link to itself": (lambda path: path.symlink_to(path), NOTHING),
    "is a socket": (lambda path: socket.socket(socket.AF_UNIX).bind(str(path)), NOTHING),
    "is empty": (Path.touch, NOTHING),
    "has a task of 8 MiB ago": (_grown(8), HEARD),
    "has a task of 40 MiB ago": (_grown(40), HEARD),
    "is sparse, of 10 GiB": (_sparse, "the task; said False"),
    "ends on a line of 40 MiB": (_grown(1, b"[" * (40 * MiB)), HEARD),
    "has CRLF": (lambda path: path.write_bytes(f"{SPOKEN}\r\n{LINE}\r\n".encode()), HEARD),
    "grows while it is read": (_growing, HEARD),
    "has a line of 900,000 brackets": (_with("[" * 900_000), HEARD),
    "has a line of 900,000 objects": (_with('{"message":' * 80_000), HEARD),
    "has content nested 900 deep": (_with(_user(["x"]).replace('"x"', "[" * 900 + "]" * 900)), HEARD),
    "has garbage, NUL and no UTF-8": (
        lambda path: path.write_bytes(f"{SPOKEN}\n".encode() + b"\0\xff\xfe{]\n\0\n" + LINE.encode() + b"\n"),
        HEARD,
    ),
    "has NaN, 1e999 and a number of 10,000 digits": (
        _with('{"message": NaN}', '{"message": 1e999}', '{"message": ' + "9" * 10_000 + "}"),
        HEARD,
    ),
    "has lists, numbers and keys twice for objects": (
        _with(
            "[]", "7", '"x"', "null", '{"message": [1], "message": {"role": ["user"], "content": {"a": 1}}}'
        ),
        HEARD,
    ),
    "has __proto__ and half characters": (
        _with('{"__proto__": {"message": {"role": "user"}}}', _user("\ud800")),
        r".*; said True",
    ),
    "has 60,000 elements without an end": (
        _with(_user("<system-reminder>" * 60_000)),
        r"<system-reminder>.*",
    ),
    "has 140,000 places of one file": (
        _with(_user([{"type": "tool_result", "content": "a.py:1 " * 140_000}])),
        HEARD,
    ),
    "has 300,000 empty records": (_with(*["{}"] * 300_000), HEARD),
    "is invalid at its very end": (lambda path: path.write_text(f"{SPOKEN}\n{LINE}\n" + LINE[:40]), HEARD),
}


CASES: tuple[Case, ...] = tuple(
    Case("transcript", name, _heard(make), holds, quick=True) for name, (make, holds) in TRANSCRIPTS.items()
)
