"""A small git repository that tests make themselves, commit by commit."""

import os
import subprocess
from pathlib import Path

FILLER = "".join(f"def helper_{n}(value):\n    return value + {n}\n\n\n" for n in range(20))
PARSER = f'''"""Reads headers."""

import re

{FILLER}
class HeaderError(Exception):
    pass


def parse_header(text):
    name, _, value = text.partition(":")
    if not name:
        raise HeaderError("the header line has no name at all")
    return name, value


def print_header(name, value):
    return name + ":" + value
'''
FIXED = PARSER.replace("    return name, value\n", "    return name.lower(), value.strip()\n")
TESTS = """from parser import parse_header


def test_header_values_are_stripped():
    assert parse_header("A: b ") == ("a", "b")
"""


class Repository:
    """A repository with a work tree; every commit has its own author and date, so hashes don't change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        """Run git here and give what it prints."""
        who = {"NAME": "A", "EMAIL": "a@example.org", "DATE": "2024-01-01T00:00:00Z"}
        own = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        clean = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, **own, **clean}
        ).stdout.strip()

    def commit(self, message: str, files: dict[str, str | None]) -> str:
        """Write files (None removes one), commit, and give the hash."""
        for path, text in files.items():
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                place.unlink()
            else:
                place.write_text(text, encoding="utf-8", newline="")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")
