"""The text of a log, whether it is one file or a folder: OpenHands keeps a file an event, and its accounts in another.

What the text holds is the matter of `formats`; this module knows files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lamr_sessions.events import first_at

_EVENTS = "events/event-*.json"
_STATE = "base_state.json"
_ANSWER = "llm_response_id"
USAGE = "usage"
"""The key under which the first event of a model's answer gets what the answer's request used."""


def is_conversation(folder: Path) -> bool:
    """Whether a folder is the log of one conversation of OpenHands."""
    return next(folder.glob(_EVENTS), None) is not None


def read_log(log: Path) -> str:
    """The text of a log; of a conversation, a line an event, with its accounts where it keeps any.

    Raises:
        OSError: it can't be read.
    """
    if not log.is_dir():
        return log.read_text(encoding="utf-8", errors="replace")
    used = dict(_accounts(log / _STATE))
    lines = []
    for file in sorted(log.glob(_EVENTS)):
        event = _parsed(file)
        if isinstance(event, dict):
            account = used.pop(str(event.get(_ANSWER)), None)
            lines.append(json.dumps({**event, USAGE: account} if account else event))
    return "\n".join(lines)


def _accounts(state: Path) -> Iterator[tuple[str, Any]]:
    """The accounts of each request, by the answer's name."""
    if not state.exists():
        return
    metrics = first_at(_parsed(state), "stats.usage_to_metrics")
    for each in metrics.values() if isinstance(metrics, dict) else ():
        usages = first_at(each, "token_usages")
        for usage in usages if isinstance(usages, list) else ():
            if isinstance(usage, dict) and isinstance(usage.get("response_id"), str):
                yield usage["response_id"], usage


def _parsed(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None
