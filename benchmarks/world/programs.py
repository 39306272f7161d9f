"""Programs that say whether a text parses in a language: the language's own where there is one. They run nothing of it.

A program that a machine lacks answers None, as does one that takes too long."""

import ast
import configparser
import json
import logging
import os
import re
import select
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from xml.parsers import expat

from lamr_base.lazy import toml_parser

Parses = Callable[[str], "bool | None"]
SECONDS = 20.0
MOST_SQL = 30_000  # characters; sqlglot is slow
NODE_FOLDER = Path(sys.prefix, "world")
"""Where `make world` puts node's parsers."""


def _caught(parse: Callable[[str], object], *errors: type[Exception]) -> Parses:
    """Whether the function takes a text without one of the errors."""

    def parses(text: str) -> bool:
        try:
            parse(text)
        except errors:
            return False
        return True

    return parses


def _command(*words: str, environment: dict[str, str] | None = None) -> Parses:
    """Whether a command takes a text on standard input and ends with 0."""

    def parses(text: str) -> bool | None:
        done = _run(words, text, environment)
        return None if done is None else done.returncode == 0

    return parses


def _run(
    words: Sequence[str], text: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes] | None:
    """Run a command on a text; None where it is missing or takes too long."""
    program = _found(words[0])
    if program is None:
        return None
    try:
        return subprocess.run(
            [program, *words[1:]],
            input=text.encode("utf-8", "surrogatepass"),
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        return None


@lru_cache(maxsize=64)
def _found(program: str) -> str | None:
    """Where a program lies: on the path, or among what Python packages bring."""
    brought = [Path(each, "go", "bin", program) for each in sys.path if each.endswith("site-packages")]
    return shutil.which(program) or next((str(path) for path in brought if path.is_file()), None)


def _python(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in other people's files
        ast.parse(text.encode("utf-8"))


def _toml(text: str) -> None:
    toml_parser().loads(text.removeprefix("\ufeff"))


def _xml(text: str) -> None:
    expat.ParserCreate().Parse(text.encode("utf-8", "surrogatepass"), True)


def _ini(text: str) -> None:
    configparser.RawConfigParser(allow_no_value=True, strict=False).read_string(text.removeprefix("\ufeff"))


def _yaml(text: str) -> bool | None:
    try:
        import yaml
    except ImportError:
        return None
    try:
        for _ in yaml.compose_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass
    except (yaml.YAMLError, RecursionError, ValueError):
        return False
    return True


def _sql(text: str) -> bool | None:
    """Whether one of a few dialects takes it; statements that sqlglot doesn't know count as taken."""
    try:
        import sqlglot
    except ImportError:
        return None
    if len(text) > MOST_SQL:
        return None
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    for dialect in (None, "postgres", "mysql", "sqlite", "tsql"):
        try:
            sqlglot.parse(text, dialect=dialect)
        except (sqlglot.errors.SqlglotError, RecursionError, ValueError, AttributeError):
            continue
        return True
    return False


class _Node:
    """One process of node that answers for all texts; made when it is first asked, and anew if it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def parses(self, kind: str, text: str) -> bool | None:
        """Whether the text parses; None where node, the parser or time is missing."""
        program = _found("node")
        if program is None:
            return None
        if self._process is None or self._process.poll() is not None:
            command = [program, "--experimental-vm-modules", "--no-warnings", "--stack-size=4000"]
            self._process = subprocess.Popen(
                [*command, str(Path(__file__).with_name("parsers.mjs")), str(NODE_FOLDER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(
                json.dumps({"kind": kind, "text": text.removeprefix("\ufeff")}).encode() + b"\n"
            )
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        ready, _, _ = select.select([self._process.stdout], [], [], SECONDS)
        said = self._process.stdout.readline() if ready else b""
        if not said:
            self._process.kill()
            self._process.wait()
        return {b"true\n": True, b"false\n": False}.get(said)


_NODE = _Node()
_SCRIPTS, _MARKUP = ("javascript", "jsx", "typescript", "tsx", "php", "ruby"), ("graphql", "vue", "svelte")
_IN_NODE = (*_SCRIPTS, *_MARKUP, "css", "scss", "less")


_LEXICAL = re.compile(rb"error: (?:unterminated|missing terminating|#\w+ without)")


def _compiler(program: str, language: str) -> Parses:
    """Whether a compiler takes a text, as far as directives, comments and texts go.

    What else it says depends on types whose declaration may have been cut, which is no matter of syntax."""

    def parses(text: str) -> bool | None:
        done = _run([program, "-fsyntax-only", "-w", "-x", language, "-"], text)
        if done is None:
            return None
        return False if _LEXICAL.search(done.stderr) else True if done.returncode == 0 else None

    return parses


PROGRAMS: dict[str, Parses] = {
    "python": _caught(_python, SyntaxError, ValueError, RecursionError, MemoryError),
    "json": _caught(lambda text: json.loads(text.removeprefix("\ufeff")), ValueError, RecursionError),
    "toml": _caught(_toml, ValueError, RecursionError),
    "xml": _caught(_xml, expat.ExpatError),
    "ini": _caught(_ini, configparser.Error),
    "yaml": _yaml,
    "sql": _sql,
    "bash": _command("bash", "-n"),
    "c": _compiler("gcc", "c"),
    "c++": _compiler("g++", "c++"),
    "go": lambda text: _command("gofmt")(text.removeprefix("\ufeff")),  # which takes parts of a file, too
    "rust": _command("rustc", "-Zparse-crate-root-only", "-", environment={"RUSTC_BOOTSTRAP": "1"}),
    "terraform": _command("terraform", "fmt", "-"),
    **{kind: partial(_NODE.parses, kind) for kind in _IN_NODE},
}
WITHOUT_COMMENTS = frozenset({"json"})
"""Formats that know no comments: a marker is on a line of its own, which readers of the result skip."""


def there_are(programs: Sequence[str]) -> list[str]:
    """Those of the programs that this machine has."""
    samples = {
        "php": "<?php\n",
        "json": "1",
        "vue": "<template>a</template>",
        "xml": "<a/>",
        "graphql": "type A { a: Int }",
    }
    samples |= {"go": "package a\n", "terraform": "a = 1\n"}
    return [name for name in programs if PROGRAMS[name](samples.get(name, "")) is not None]
