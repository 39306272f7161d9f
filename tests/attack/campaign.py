"""The table of all cases, gathered from the modules that try one area each.

A module of an area has `CASES`; cases of one module run in their order and may share a server that the module starts
(a `contextmanager` named `setting`, entered before the first of them)."""

import importlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from tests.attack.case import Case, Outcome, outcome
from tests.attack.place import Place

AREAS: tuple[str, ...] = ("repositories", "keeping", "machine", "hook", "tenants", "input")


def cases(area: str) -> Sequence[Case]:
    """The cases of an area."""
    found: Sequence[Case] = importlib.import_module(f"tests.attack.{area}").CASES
    return found


def run(area: str, chosen: Sequence[Case]) -> Iterator[Outcome]:
    """Try cases of an area in turn, each in a place of its own."""
    setting = getattr(importlib.import_module(f"tests.attack.{area}"), "setting", nullcontext)
    with setting():
        for case in chosen:
            with tempfile.TemporaryDirectory(prefix="lamr-attack-", ignore_cleanup_errors=True) as folder:
                yield outcome(case, Place(Path(folder)))
