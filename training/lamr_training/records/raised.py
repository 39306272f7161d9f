"""Messages that code raises or logs: where they stand, and what somebody asks who sees one."""

from __future__ import annotations

import random
import re

_RAISED = re.compile(
    r"(?P<head>\b(?:raise|throw)\b[^;\"'`\n]{0,80}|\b(?:panic!?|bail!|anyhow!|ensure!|errors\.New|[Ee]rrorf|Fatalf?|die|"
    r"abort|trigger_error|fatal|perror|croak|Wrapf?|Error|TypeError|RangeError|error|err|warn|warning)\(|"
    r"\b\w*(?:Error|Exception)(?:\.new)?\s*\(|"
    r"\b\w*(?:[lL]og\w*|LOG|logger|console)[.:>-]+(?:error|warn(?:ing)?|fatal|critical|exception|Error|Warn)\w*\s*\(|"
    r"fprintf\s*\(\s*stderr\s*,)[^\"'`;{}]{0,80}?(?P<quote>[\"'`])(?P<text>(?:\\.|(?!(?P=quote))[^\\\n]){12,180})(?P=quote)"
)
_CLASS = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b")
_SLOT = re.compile(
    r"\$?\{[^{}]*\}|#\{[^{}]*\}|%[-+#0-9.*l]*[sdiufxvqwTpczr]|%\(\w+\)[sd]|\\[nrt]|\$\w+|\{\d*\}"
)
_FILLINGS = ("foo", "42", "None", "'name'", "0", "example.com", "…", "true", "[1, 2]", "/tmp/data")
_WORD = re.compile(r"[A-Za-z][A-Za-z']+")


def raised_sites(code: str) -> list[re.Match[str]]:
    """The places of a file that raise or log a message of four words or more."""
    return [m for m in _RAISED.finditer(code) if count_words(_SLOT.sub(" ", m["text"])) >= 4]


def complaint(site: re.Match[str], path: str, language: str, rng: random.Random) -> str:
    """What somebody asks who sees the message of one of the `raised_sites`, with its slots filled in."""
    message = " ".join(_SLOT.sub(lambda _: rng.choice(_FILLINGS), site["text"]).split()).rstrip(" '\"(:[")
    named = _CLASS.search(site["head"])
    forms = [
        "{message}",
        'Why do I get "{message}"?',
        "{kind}: {message}",
        "The program stops with `{message}`. Where does that come from?",
        "ERROR {message}",
        "[2024-05-11 09:14:02] ERROR {project}: {message}",
        "Traceback (most recent call last):\n  …\n{kind}: {message}"
        if language == "python"
        else "Unhandled exception: {kind}: {message}\n    at {stem}",
        'grep for the log line "{message}"',
    ]
    stem = path.rsplit("/", 1)[-1]
    return rng.choice(forms).format(
        message=message, kind=named[1] if named else "error", project=stem.split(".")[0], stem=stem
    )


def count_words(text: str) -> int:
    """Words of two letters or more."""
    return len(_WORD.findall(text))
