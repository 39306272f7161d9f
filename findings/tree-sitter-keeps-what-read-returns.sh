#!/usr/bin/env bash
# tree-sitter 0.26.1 (PyPI), with tree-sitter-python 0.25.0: Parser.parse with a read callback.
#
# The binding keeps one reference to each bytes object that the callback returns, and never gives it back: not after the
# parse, and not when the tree and the parser are gone. A process that parses by callback grows by the text of each file.
# parse(bytes) keeps nothing.
#
# Seen on Linux x86-64, Python 3.11. Exits with 1 if any of this changes.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-python==0.25.0
cat >"$place/try.py" <<'TRY'
import gc
import resource
import sys

import tree_sitter_python
from tree_sitter import Language, Parser

LANGUAGE = Language(tree_sitter_python.language())
TEXT = b"value = 1\n" * 6_000


def references(parses: bool) -> int:
    """References to a piece of the text, by the list alone or after a parse."""
    pieces = []

    def read(offset, _):
        pieces.append(TEXT[offset : offset + 4_096])
        return pieces[-1]

    if parses:
        Parser(LANGUAGE).parse(read)
    else:
        read(0, None)
    gc.collect()
    return sys.getrefcount(pieces[0])


def grown(parse) -> int:
    """Kilobytes that the process grew by in 400 parses, after 100 to warm up."""
    for _ in range(100):
        parse()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(400):
        parse()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def by_callback() -> None:
    Parser(LANGUAGE).parse(lambda offset, _: TEXT[offset : offset + 4_096])


kept = references(True) - references(False)
whole = grown(lambda: Parser(LANGUAGE).parse(TEXT))
leaked = grown(by_callback)
print(f"references kept to a piece: {kept}; growth in 400 parses of {len(TEXT) // 1000} kB: by bytes {whole} kB, by callback {leaked} kB")
assert kept == 1
assert whole < 4_000 and leaked > 15_000
TRY
"$place/venv/bin/python" "$place/try.py"
