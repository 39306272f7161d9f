"""Hosts whose plugins are JavaScript: their file runs lamr's hook with what the session said.

A host's file is made of three: `LAMR`, a line of what Python knows; `ask.js`, which runs the hook; and the host's own,
which reads its events and puts the text in its place. A call holds the session's name, the folder, the tool and its
input, the text that it shows, whether it failed, and the session's latest messages as the host keeps them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lamr_agents.calls import Call, HookHost, HostCall, HostOutput, SampleRead, call_of
from lamr_agents.host import Command, FileEntry
from lamr_agents.policy import NO_LIMITS, ShownLimits, utf16_units
from lamr_agents.sessions import Heard, LogFormat
from lamr_agents.sessions.events import Rule, events_of
from lamr_agents.sessions.formats import OPENCODE, PI
from lamr_agents.sessions.shown import framed
from lamr_agents.skimmed import Skim
from lamr_agents.thin import NOT_PRUNED, NOTE, SMALL

BESIDE = '{"beside": %s}'
MOST_HEARD = 1 << 20
"""Characters of messages that a call holds, and as many of the user's: what is heard is of the last 60 steps."""


CLINE = LogFormat(
    "cline",
    None,
    {"role": None, "content": None},
    (
        Rule("user", "content[]", {"role": "user"}, {"type": "text"}),
        Rule("thought", "content[]", {"role": "assistant"}, {"type": "reasoning"}),
        Rule("assistant", "content[]", {"role": "assistant"}, {"type": "text"}),
    ),
)


_MOST = 8_000


def _shortened(text: str) -> str:
    """A text as Cline shows it: without its middle where it is long."""
    if len(text) <= _MOST:
        return text
    notice = f"\n\n...[truncated {len(text) - _MOST + 32} chars]...\n\n"
    half = (_MOST - len(notice)) // 2
    return f"{text[:half]}{notice}{text[-half:]}"


LIMITS = {CLINE.name: ShownLimits(characters=_MOST, size=utf16_units, uncut=_MOST, shown=_shortened)}
"""By host; one that isn't named shows all."""


def file_of(host: str, *tools: str, plugin: str = "", grace: float = 2) -> FileEntry:
    """A host's file for some tools.

    Args:
        host: the host's name.
        tools: the names of the tools whose results are pruned.
        plugin: names the host whose file is taken where it isn't the host's own.
        grace: seconds that the hook gets beyond its limit."""

    def make(command: Command) -> str:
        known = {
            "command": command.words,
            "optional": bool(command.guard),
            "seconds": command.limit + grace,
            "tools": tools,
            "small": SMALL,
            "heard": MOST_HEARD,
            "failed": f"{NOTE} {NOT_PRUNED}: ",
        }
        data = Path(__file__).parent / "data"
        parts = [(data / name).read_text(encoding="utf-8") for name in ("ask.js", f"{plugin or host}.js")]
        return "\n".join(
            [f"// `lamr install {host}` wrote this file.\nconst LAMR = {json.dumps(known)}", *parts]
        )

    return FileEntry(make)


def _reader(form: LogFormat) -> Callable[[Mapping[str, Any]], Call | None]:
    """Makes a reader of calls that hold messages of a format."""

    def read_call(payload: Mapping[str, Any]) -> Call | None:
        tool, given, text = (payload.get(key) for key in ("tool", "input", "text"))
        if not isinstance(tool, str) or not isinstance(given, Mapping) or not isinstance(text, str):
            return None
        folder = Path(str(payload.get("cwd") or "")) / str(given.get("workdir") or "")
        return call_of(
            HostCall(str(payload.get("session") or ""), tool, given, payload, folder),
            HostOutput(
                text, lambda _: payload.get("failed") is True, limits=LIMITS.get(form.name, NO_LIMITS)
            ),
            hear=lambda: hear(payload.get("messages"), form),
        )

    return read_call


def hear(messages: Any, form: LogFormat) -> Heard:
    heard = Heard()
    for event in events_of(messages if isinstance(messages, list) else [], form):
        heard.hear(event)
    return heard


def answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    if shown.cut:
        before, _, after = framed(call.response["text"])
        return {"text": f"{before}{shown.text}{after}"}
    return {"beside": shown.aside} if shown.aside else None


def sample(read: SampleRead) -> Mapping[str, Any]:
    return {"session": read.session, "tool": "read", "input": read.asked, "text": read.text, "messages": []}


HOOK_OPENCODE, HOOK_KILO, HOOK_PI, HOOK_CLINE = (
    HookHost(name, _reader(form), answer, sample, BESIDE, tells_context=form is not CLINE)
    for name, form in ((OPENCODE.name, OPENCODE), ("kilo", OPENCODE), (PI.name, PI), (CLINE.name, CLINE))
)
