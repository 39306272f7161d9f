"""Recorded sessions of coding agents: read into events, with the files that they showed and what of them was needed.

`events` reads a log by one of the tables of `formats`; `tools` knows what tools and `commands` what shell commands do
to files, `shown` what their results show of one; `reads` finds the big reads of a session, and `uses` the lines of each
that the session later needed; `about` has a log's text, and tells which session it is of and how many tokens each
request took; `pointed` finds the lines that it had pointed at before, and the files that it saw; `notices` has what
hosts say of outputs that they shortened, and `user_messages` what they put around a user's own words.
"""

from lamr_agents.sessions.about import About, Request, about_of, is_conversation, read_log, requests_of
from lamr_agents.sessions.commands import Read
from lamr_agents.sessions.events import (
    Event,
    LogFormat,
    Rule,
    events_of,
    read_events,
    read_records,
    recognize,
)
from lamr_agents.sessions.formats import FORMATS
from lamr_agents.sessions.reads import BigRead, Heard, big_reads
from lamr_agents.sessions.tools import Edit
from lamr_agents.sessions.uses import LaterUse, Use, later_uses, use_in_all

__all__ = [
    "FORMATS",
    "About",
    "BigRead",
    "Edit",
    "Event",
    "Heard",
    "LaterUse",
    "LogFormat",
    "Read",
    "Request",
    "Rule",
    "Use",
    "about_of",
    "big_reads",
    "events_of",
    "is_conversation",
    "later_uses",
    "read_events",
    "read_log",
    "read_records",
    "recognize",
    "requests_of",
    "use_in_all",
]
