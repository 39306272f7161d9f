"""What a log says of its session: the name that the host gives it, the folder that it worked in, and when it began.

What differs between hosts is an `AboutRule`, a table like a `Format`. A log that says nothing is known by its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import PurePath
from typing import Any

from lamr_sessions.events import Format, first_at

_MILLISECONDS = 1e11
"""A moment that is a larger number is in thousandths of a second."""


@dataclass(frozen=True)
class About:
    """What is known of a session.

    Attributes:
        name: the host's for it, which sub-agents of a session share with it; empty where the log doesn't say.
        folder: that it worked in; empty where the log doesn't say.
        began: seconds since 1970; None where the log doesn't say.
    """

    name: str = ""
    folder: str = ""
    began: float | None = None

    @property
    def project(self) -> str:
        """The last part of the folder; empty without one."""
        return PurePath(self.folder.replace("\\", "/")).name


@dataclass(frozen=True)
class AboutRule:
    """The ways, from a record, to what `About` holds; the first record that has one counts."""

    name: str = ""
    folder: str = ""
    began: str = "timestamp"


ABOUT: Mapping[str, AboutRule] = {
    "claude-code": AboutRule("sessionId", "cwd"),
    "codex": AboutRule("payload.id", "payload.cwd"),
    "copilot-cli": AboutRule("data.sessionId", "data.context.cwd"),
    "pi": AboutRule("id", "cwd"),
    "opencode": AboutRule("info.sessionID", "info.path.cwd", "info.time.created"),
    "openhands-sdk": AboutRule(),
    "openhands": AboutRule(),
    "gemini-cli": AboutRule(),
    "entire": AboutRule(began="ts"),
}
"""By the name of the format."""


def about_of(records: Sequence[Any], form: Format) -> About:
    """What records say of their session."""
    rule = ABOUT.get(form.name)
    if rule is None:
        return About()
    name, folder, began = (_first(records, way) for way in (rule.name, rule.folder, rule.began))
    return About(
        name if isinstance(name, str) else "", folder if isinstance(folder, str) else "", _moment(began)
    )


def _first(records: Sequence[Any], way: str) -> Any:
    found = (first_at(record, way) for record in records) if way else ()
    return next((value for value in found if value not in (None, "")), None)


def _moment(value: Any) -> float | None:
    """A moment as hosts write it: ISO 8601, or a number of seconds or milliseconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000 if value > _MILLISECONDS else float(value)
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    except (AttributeError, ValueError, OverflowError):
        return None
