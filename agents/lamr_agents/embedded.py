"""Shared by hosts that run lamr in their own process: a pruner, the policy, and originals for `lamr show`.

No command line says there what server, profile and effort it is to be, so that the user's `lamr.toml`
does."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lamr_base.choices import EffortName
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_base.settings_file import SettingsError, users_settings
from lamr_client import LamrError, Pruner

from lamr_agents.intent import Known, intent_of
from lamr_agents.local.texts import SHOW, Archive, Place, Texts, default_texts
from lamr_agents.policy import DEFAULT, NO_LIMITS, PROFILES, Policy, ShownLimits
from lamr_agents.sessions.notices import gaps
from lamr_agents.sessions.tools import Read
from lamr_agents.skim import Prunes, asked_for, skim_anyway
from lamr_agents.skimmed import Skim
from lamr_agents.transcript import text_of

TIMEOUT_SECONDS = 30.0
_log = logging.getLogger("lamr.agents")
_SHOW = expression(rf"\s*(?:cd\s+\S+\s*&&\s*)?{SHOW}\s+([\"']?)(\S+?)\1\s*")
"""Agents in containers put a change of the folder before any command."""


@dataclass(frozen=True)
class Reading:
    """Effort and time limit in seconds for a result; None for the pruner's own limit."""

    effort: EffortName = "auto"
    within: float | None = None


class Reads:
    """Prunes what the tools of a session show of files."""

    def __init__(
        self,
        make_pruner: Callable[[], Prunes],
        policy: Policy | None = None,
        texts: Path | None = None,
        *,
        reading: Reading | None = None,
    ) -> None:
        self._pruner = Lazily(make_pruner)
        self._policy = policy or PROFILES[DEFAULT]
        self._archive = _archive(texts)
        self._reading = reading or Reading()

    def skimmed(  # noqa: PLR0913  # what is known of one result, keyword-only but for the parts
        self,
        text: str,
        read: Read,
        known: Known,
        *,
        name: str = "",
        again: bool = False,
        failed: bool = False,
        limits: ShownLimits = NO_LIMITS,
    ) -> Skim:
        intent = intent_of(known)
        whole = text_of(read.path) if gaps(text) and not name else ""
        asked = asked_for(text, read, intent=intent, name=name, whole=whole, limits=limits)
        asked = replace(asked, again=again, failed=failed)
        options = {"archive": self._archive, "effort": self._reading.effort, "within": self._reading.within}
        return skim_anyway(self._pruner, asked, intent, self._policy, **options)

    def answer_show(self, command: str) -> tuple[str, int] | None:
        """The output and exit code of `lamr show KEY:…`; None for another command.

        It is answered here, since commands may run in a container without lamr."""
        place = _SHOW.fullmatch(command)
        if place is None or self._archive is None:
            return None
        try:
            return self._archive.texts.lines(Place.parse(place[2])), 0
        except LamrError as error:
            return f"lamr: {error}\n", error.exit_code


def _archive(texts: Path | None) -> Archive | None:
    """The archive of originals; None for a user without a home."""
    try:
        return Archive(Texts(texts or default_texts()))
    except LamrError as error:
        _log.warning("what lies in no file isn't pruned: %s", error)
        return None


@dataclass(frozen=True)
class Own:
    """The user's settings for such a host."""

    policy: Policy  # the named profile's
    reading: Reading  # the named effort
    server: str | None  # the pruner's; LAMR_SERVER wins over the file
    model: str | None

    @classmethod
    def read(cls) -> Own:
        """Read the file; nothing is set where it can't be used, since the session goes on."""
        own: Mapping[str, Any] = {}
        try:
            own = users_settings()
        except SettingsError as error:
            _log.warning("your settings aren't used: %s", error)
        return cls(
            PROFILES[own.get("profile", DEFAULT)],
            Reading(own.get("effort", "auto"), own.get("within")),
            os.environ.get("LAMR_SERVER") or own.get("server"),
            own.get("model"),
        )

    def make_pruner(self) -> Pruner:
        return Pruner(self.server, model=self.model, timeout=TIMEOUT_SECONDS)


class Lazily:
    """A pruner that is made when it is first asked, once for all threads."""

    def __init__(self, make: Callable[[], Prunes]) -> None:
        self._make = make
        self._making = threading.Lock()
        self._made: Prunes | None = None

    def prune(self, *arguments: Any, **options: Any) -> Any:
        with self._making:
            self._made = self._made or self._make()
        return self._made.prune(*arguments, **options)
