"""The hook of Claude Code and its local server, a module of `tests.attack.hooks` a kind."""

from tests.attack.case import Case
from tests.attack.hooks import calls, others, places, settings, stores, transcripts

CASES: tuple[Case, ...] = (
    *others.CASES,
    *places.CASES,
    *transcripts.CASES,
    *calls.CASES,
    *stores.CASES,
    *settings.CASES,
)
