"""The rows of a file of jobs, and how they are checked. This module runs nothing."""

import os
from collections.abc import Iterator
from typing import Any, get_args

from lamr_base.choices import EffortName
from lamr_base.records import dataclass

from lamr_repositories.batch.formats import Row, format_of
from lamr_repositories.batch.options import EFFORT
from lamr_repositories.batch.storage import open_place
from lamr_repositories.errors import RepositoryError

_TEXTS = ("query", "task", "path", "repo", "code", "revision", "format", "effort")
_SOURCES = ("path", "repo", "code")


@dataclass(frozen=True)
class Job:
    """One row of the file."""

    id: str  # of the answer; `line-7` (of Parquet `row-7`) for the seventh where the row has none
    fields: dict[str, Any] | None  # None where the row is no job
    problem: str = ""


def read_jobs(place: str | os.PathLike[str]) -> Iterator[Job]:
    """Yield the jobs of a JSONL or Parquet file; blank lines are passed over, and a row that is no job says so.
    Raises `RepositoryError`: the file can't be read, or two rows have the same id. Raises `MissingPackageError`:
    Parquet's or the URL's library isn't installed."""
    form = format_of(os.fspath(place))
    seen: dict[str, int] = {}
    try:
        with open_place(place) as stream:
            for number, row in form.read(stream):
                job = _job(row, f"{form.place}-{number}", f"{form.place} {number}")
                first = seen.setdefault(job.id, number)
                if first != number:
                    raise RepositoryError(
                        f"{place}:{number}: the id {job.id!r} is that of {form.place} {first} already; "
                        "give each its own",
                        path=place,
                    )
                yield job
    except OSError as error:
        raise RepositoryError(f"{place}: can't be read ({error.strerror or error})", path=place) from error
    except RepositoryError:
        raise
    except (ValueError, TypeError, LookupError, NotImplementedError, MemoryError) as error:  # pyarrow's
        raise RepositoryError(f"{place}: is no {form.ending[1:]} file ({error})", path=place) from error


def _job(row: Row | str, name: str, place: str) -> Job:
    if not isinstance(row, dict):
        return Job(name, None, f"{place} {row}")
    fields = {key: value for key, value in row.items() if value is not None}
    name = str(fields.pop("id", name))
    problem = _problem(fields)
    return Job(name, None if problem else fields, problem and f"{place}: {problem}")


def _problem(fields: dict[str, Any]) -> str:
    """Return what is wrong with a row; nothing for a job."""
    unknown = sorted(fields.keys() - {*_TEXTS, "max_tokens", "within"})
    if unknown:
        return f"unknown field {unknown[0]!r}; there are id, {', '.join(_TEXTS)}, max_tokens and within"
    if wrong := _wrong_value(fields):
        return wrong
    if "query" not in fields:
        return "the field query is missing"
    return _wrong_together(fields)


def _wrong_value(fields: dict[str, Any]) -> str:
    """Return which field of a row has a value that it can't have; nothing where none has."""
    for name in _TEXTS:
        if not isinstance(fields.get(name, ""), str):
            return f"{name} must be text"
    tokens, within = fields.get("max_tokens", 1), fields.get("within", 1.0)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        return "max_tokens must be a whole number of at least 1"
    if isinstance(within, bool) or not isinstance(within, int | float) or not within > 0:
        return "within must be seconds, a number above 0"
    efforts = get_args(EffortName)
    return "" if fields.get("effort", EFFORT) in efforts else f"effort must be one of {', '.join(efforts)}"


def _wrong_together(fields: dict[str, Any]) -> str:
    """Return which fields of a row exclude each other; nothing where none do."""
    has_code = not {"path", "code"}.isdisjoint(fields)
    if ("repo" in fields) == has_code:
        return f"give one of {', '.join(_SOURCES)}; path may name the language of code"
    of_others = {"revision", "format"} if has_code else {"effort", "within"}
    wrong = sorted(of_others & fields.keys())
    return f"{wrong[0]} goes with {'repo' if has_code else 'code'}" if wrong else ""
