"""What holds for the tests of commands, some of which run a command within the test's own process."""

import os
import sys
from collections.abc import Iterator

import pytest
from lamr_base.children import SAFE_PATH
from lamr_base.silence import SILENCE


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Undo what a command does to its process: what it imports from, and what its children inherit."""
    path = list(sys.path)
    variables = {name: os.environ.get(name) for name in (SAFE_PATH, "PYTHONPATH", *SILENCE)}
    yield
    sys.path[:] = path
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
