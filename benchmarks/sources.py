"""The Python files that benchmarks work on: the standard library's and the installed packages'."""

import ast
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

STDLIB = Path(sysconfig.get_path("stdlib"))
QUERY = "How does a generic alias substitute its type parameters, and what is checked?"  # of `typing.py`


def library_module(name: str) -> str:
    """The text of a module of the standard library, by its file name."""
    return (STDLIB / name).read_text(encoding="utf-8")


def python_files(most: int) -> Iterator[tuple[Path, str]]:
    """At most so many installed files that parse, in a fixed random order."""
    roots = [STDLIB, Path(sysconfig.get_path("purelib"))]
    paths = sorted({path for root in roots for path in root.rglob("*.py")})
    random.Random(0).shuffle(paths)
    for path in paths:
        try:
            code = path.read_bytes().decode("utf-8")
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
            continue
        if code.strip():
            yield path, code
            most -= 1
            if not most:
                return
