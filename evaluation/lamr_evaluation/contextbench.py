"""ContextBench's instances: a whole issue, and the lines that its annotators marked in each file.

The benchmark is public (Apache-2.0), and so are the issues, but this repository holds neither: they are read where the
benchmark's own file lies, which git's hash pins. This module knows that file's form; it knows neither which instances
are wanted nor the projects that they are about.
"""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from lamr_repositories.batch.formats import FORMATS

from lamr_evaluation.errors import DataError

REPOSITORY = "Nobbettt/ContextBench"
BLOB = "7f4ed829cfe0ded594f2d9a07f921f4c2bf57c37"
"""`data/contextbench_verified_test.parquet`; its sibling `test.parquet` has the same 50 instances."""

_CONTAINER = re.compile(r"/(?:workspace/[^/]+|testbed)/")
"""Before the path of a file: the folder of the container that some annotators worked in."""


@dataclass(frozen=True)
class Instance:
    """One issue and its gold."""

    issue: str  # its whole text
    gold: dict[str, tuple[int, ...]]  # 1-based gold lines by file, ascending


def read_instances(data: bytes) -> dict[str, Instance]:
    """The instances of the benchmark's Parquet file by name.

    Raises:
        DataError: the file isn't of that form.
        MissingPackageError: pyarrow isn't installed.
    """
    try:
        return {row["instance_id"]: _instance(row) for row in FORMATS["parquet"].rows(io.BytesIO(data))}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"ContextBench's file isn't of the form that is expected here: {error!r}") from error


def _instance(row: dict[str, Any]) -> Instance:
    lines: defaultdict[str, set[int]] = defaultdict(set)
    for context in json.loads(row["gold_context"]):
        path = _CONTAINER.sub("", context["file"], count=1)
        lines[path].update(range(context["start_line"], context["end_line"] + 1))
    return Instance(row["problem_statement"], {path: tuple(sorted(gold)) for path, gold in lines.items()})
