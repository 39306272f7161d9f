"""The formats of jobs and answers as files: a table of how rows become bytes, and bytes rows."""

import io
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, BinaryIO

from lamr_base.errors import InvalidInputError, MissingPackageError, how_to_install
from lamr_base.expressions import expression
from lamr_base.records import dataclass

Row = dict[str, Any]

_ANSWER_COLUMNS = {
    "id": "string",
    "text": "string",
    "tokens": "int64",
    "kept_lines": "list<int64>",
    "relevance": "float64",
    "reason": "string",
    "effort": "string",
    "files": "list<string>",
    "notes": "list<string>",
    "error": "string",
    "message": "string",
}
"""All shards of a batch have the same columns, whatever their rows say, so that readers can take them as one table."""
_INDEX = expression(r"__index_level_\d+__")
"""Columns that pandas adds for its index."""
_READ_ROWS = 256
MOST_ROW_BYTES = 64 << 20
"""Of a line of JSON; a longer one is an error, and isn't read."""


@dataclass(frozen=True)
class RowFormat:
    """One format."""

    ending: str  # of a file's name, with its dot
    place: str  # what a row is counted by in messages and in the ids of rows without one
    encode: Callable[[Sequence[Row]], bytes]  # makes a whole file of answers
    # yields every row's number, from 1, and the row; for a row that is none, what is wrong with it. It raises
    # ValueError for a file that as a whole isn't of the format.
    read: Callable[[BinaryIO], Iterator[tuple[int, Row | str]]]

    def rows(self, stream: BinaryIO) -> Iterator[Row]:
        """Yield the rows of a file that we wrote. Raises `ValueError`: the file is cut off or not ours."""
        for number, row in self.read(stream):
            if not isinstance(row, dict):
                raise ValueError(f"{self.place} {number} {row}")
            yield row


def format_of(name: str) -> RowFormat:
    """Return the format of a file by its name's ending; JSONL unless another says so."""
    return next((each for each in FORMATS.values() if name.endswith(each.ending)), FORMATS["jsonl"])


def named_format(name: str) -> RowFormat:
    """Return the format of a name."""
    if name not in FORMATS:
        raise InvalidInputError(
            f"there is no format {name!r}; choose from {', '.join(FORMATS)}", argument="format"
        )
    return FORMATS[name]


def _encode_jsonl(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows).encode("ascii")


def _read_jsonl(stream: BinaryIO) -> Iterator[tuple[int, Row | str]]:
    for number, line in enumerate(_lines(stream), 1):
        if line is None:
            yield number, f"has more than {MOST_ROW_BYTES:,} bytes"
        elif line.strip():
            yield number, _row(line)


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield lines, and None for those that are too long."""
    while line := stream.readline(MOST_ROW_BYTES + 1):
        too_long = len(line) > MOST_ROW_BYTES
        while line and too_long and not line.endswith(b"\n"):
            line = stream.readline(MOST_ROW_BYTES)
        yield None if too_long else line


def _row(line: bytes) -> Row | str:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"is no JSON ({error})"
    return row if isinstance(row, dict) else "is no JSON object"


def _encode_parquet(rows: Sequence[Row]) -> bytes:
    arrow, parquet = _pyarrow()
    types = {
        "string": arrow.string(),
        "int64": arrow.int64(),
        "float64": arrow.float64(),
        "list<int64>": arrow.list_(arrow.int64()),
        "list<string>": arrow.list_(arrow.string()),
    }
    schema = arrow.schema([(name, types[kind]) for name, kind in _ANSWER_COLUMNS.items()])
    stream = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=schema), stream, compression="zstd")
    return stream.getvalue()


def _read_parquet(stream: BinaryIO) -> Iterator[tuple[int, Row | str]]:
    _, parquet = _pyarrow()
    batches = parquet.ParquetFile(stream).iter_batches(batch_size=_READ_ROWS)
    rows = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
    for number, row in enumerate(rows, 1):
        # Tables have every column in every row.
        said = {
            name: value for name, value in row.items() if value is not None and not _INDEX.fullmatch(name)
        }
        yield number, {name: _whole(value) for name, value in said.items()}


def _whole(value: object) -> object:
    """Turn 400.0 into 400: pandas makes floats of whole numbers in a column that has gaps."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"Parquet needs pyarrow, which isn't installed: {how_to_install('batch')}", package="pyarrow"
        ) from error
    return pyarrow, pyarrow.parquet


FORMATS = {
    "jsonl": RowFormat(".jsonl", "line", _encode_jsonl, _read_jsonl),
    "parquet": RowFormat(".parquet", "row", _encode_parquet, _read_parquet),
}
