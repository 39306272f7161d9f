"""Recorded sessions of coding agents: read into events, with the files that they showed and what of them was needed.

`events` reads a log by one of the tables of `formats`; `about` has a log's text, names its session and counts the
tokens of each request. `tools` knows what tools and shell commands do to files, `shown` what their results show of one,
and `notices` what hosts write around texts. `reads` finds the big reads of a session, with what was said and seen
before each, and `uses` the lines of each that the session later needed."""

from lamr_agents.sessions.about import About, Request, about_of, is_conversation, read_log, requests_of
from lamr_agents.sessions.events import Event, LogFormat, events_of, read_events, read_records, recognize
from lamr_agents.sessions.formats import FORMATS
from lamr_agents.sessions.reads import BigRead, Heard, big_reads
from lamr_agents.sessions.tools import Edit, Read
from lamr_agents.sessions.uses import LaterUse, Use, later_uses, use_in_all

__all__ = ["FORMATS", "Event", "LogFormat", "events_of", "read_events", "read_records", "recognize"]
__all__ += ["About", "Request", "about_of", "is_conversation", "read_log", "requests_of"]
__all__ += ["BigRead", "Edit", "Heard", "LaterUse", "Read", "Use", "big_reads", "later_uses", "use_in_all"]
