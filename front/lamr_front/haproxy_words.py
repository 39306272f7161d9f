"""What HAProxy says of replicas while it runs, in plain words. What it says of anything else stays as it is."""

from __future__ import annotations

import re

from lamr_front.control import POOL, VERSION_PREFIX

# What it says at each start and reload, with a line for each tenant; and of a version's pool, whose servers follow
# those of the pool of all.
_ROUTINE = re.compile(rf"^\[NOTICE\]|Proxy \S+ stopped|Former worker|Server {VERSION_PREFIX}\S+ is (UP|DOWN)")
_PLAIN = (
    (re.compile(rf"Server {POOL}/(\S+) is UP\b.*"), r"replica \1 is ready"),
    (
        re.compile(rf'Server {POOL}/(\S+) is DOWN, reason: [^"]*info: "(.*?)(?: at step \d.*?)?".*'),
        r"replica \1 isn't ready: \2",
    ),
    (re.compile(rf"Server {POOL}/(\S+) is DOWN, reason: (.*?),.*"), r"replica \1 isn't ready: \2"),
    (
        re.compile(rf"backend '{VERSION_PREFIX}(\w+)' has no server available!"),
        r"no replica with the model \1 is ready; calls for it are refused until one is",
    ),
    (
        re.compile(rf"backend '{POOL}' has no server available!"),
        "no replica is ready; every call is refused until one is",
    ),
)
_SEVERITY = re.compile(r"^\[\w+\]\s+\(\d+\) : ")


def in_plain_words(line: str) -> str | None:
    """A line of HAProxy's standard error as people are to read it; None for what happens every day."""
    if _ROUTINE.search(line):
        return None
    text = _SEVERITY.sub("", line)
    for pattern, words in _PLAIN:
        if found := pattern.fullmatch(text):
            return found.expand(words)
    return line
