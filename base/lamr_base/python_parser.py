"""Python's own parser, which threads must take in turn.

CPython 3.11 counts the depth of a tree for all threads together, and raises a `SystemError` of its own where two of
them build trees at once (python/cpython issue 106905). numpy reads the header of each array by this parser,
too."""

import threading

PYTHON_PARSER = threading.Lock()
"""Held around `ast.parse`, and around whatever reads arrays of a `.npz` file."""
