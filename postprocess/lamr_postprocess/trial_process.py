"""The process of `trials`: it parses what it is sent, within limits, and may die of it."""

import resource
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import tree_sitter

from lamr_postprocess.languages import language_named
from lamr_postprocess.syntax import Allowance, CostlySyntaxError, grammar_of, tree_of


def answer_trials() -> None:
    """Try parses until the pipe is closed whose descriptor is the program's argument, beside what each may take."""
    descriptor, seconds, memory = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with suppress(EOFError, OSError), Connection(descriptor) as pipe:
        while True:
            parse = pipe.recv()
            end = int(time.process_time()) + seconds
            resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))
            pipe.send(parses(*parse))


def parses(data: bytes, language: str, left: int, part: tuple[Any, Any, int, int] | None) -> bool:
    """Whether a text, or a part of it, is parsed within an allowance of which so much is left."""
    grammar, allowance = grammar_of(language_named(language)), Allowance(len(data), left, 0)
    try:
        tree_of(data, grammar, allowance, part and tree_sitter.Range(*part))
    except CostlySyntaxError:
        return False
    return True
