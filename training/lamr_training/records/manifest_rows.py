"""A manifest is a JSON list of objects, one a row; this module reads and writes it for any dataclass of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from lamr_training.errors import CorpusError

Row = TypeVar("Row")


def bundled_rows(name: str, row: type[Row]) -> list[Row]:
    """The rows of a manifest that comes with the distribution; `name` is its file in `data/`."""
    return _rows((resources.files("lamr_training") / "data" / name).read_text(encoding="utf-8"), row)


def read_rows(path: Path, row: type[Row]) -> list[Row]:
    """Read a manifest whose rows are of the dataclass `row`.

    Raises:
        CorpusError: the file can't be read, or isn't a manifest of such rows.
    """
    try:
        return _rows(path.read_text(encoding="utf-8"), row)
    except OSError as error:
        raise CorpusError(f"{path}: can't be read ({error.strerror or error})") from error
    except (ValueError, TypeError) as error:
        names = ", ".join(each.name for each in fields(row))  # type: ignore[arg-type]
        raise CorpusError(f"{path}: not a manifest ({error}); expected a JSON list of {names}") from error


def write_rows(rows: Iterable[Any], path: Path) -> None:
    """Write rows, one a line, so that a change of one row is one line of a difference."""
    lines = ",\n".join(" " + json.dumps(asdict(row)) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _rows(text: str, row: type[Row]) -> list[Row]:
    return [row(**each) for each in json.loads(text)]
