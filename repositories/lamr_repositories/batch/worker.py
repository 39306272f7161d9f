"""The work of one job at a time, and the process that does it for `run`: an answer or a named error for each.

The process takes jobs from a pipe, and ends when the other end is closed, which happens whenever the parent dies.
`ray_run` does the same work in its actors."""

import contextlib
import signal
import sys
from collections.abc import Mapping
from dataclasses import field
from multiprocessing.connection import Connection
from typing import Any

from lamr_base.errors import own_errors
from lamr_base.records import dataclass
from lamr_client import InProcessTransport, LamrError, Pruner
from lamr_model.spec import bundled_repository
from lamr_postprocess import decode
from lamr_postprocess.trials import try_first

from lamr_repositories.batch.options import BatchOptions
from lamr_repositories.batch.storage import open_place, place_in
from lamr_repositories.options import PackOptions
from lamr_repositories.pack import pack
from lamr_repositories.remote import is_url
from lamr_repositories.sources import MOST_BYTES

MOST_DEATHS = 2
"""A job that so many workers died of is answered with an error."""


@dataclass(frozen=True)
class WorkerOptions:
    """What every job of a worker is run with."""

    batch: BatchOptions
    threads: int
    server: str | None = None  # None has the model in this process
    credentials: Mapping[str, Any] = field(default_factory=dict, repr=False)


class RowWorker:
    """Answers jobs with one pruner, which is made for the first that needs it."""

    def __init__(self, options: WorkerOptions) -> None:
        try_first()
        self._options = options
        self._pruner: Pruner | None = None

    def answer(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a checked job, or `error` (its name) and `message`."""
        try:
            with own_errors():
                if "repo" in fields:
                    return _packed(fields, self._options.batch)
                self._pruner = self._pruner or _pruner(self._options)
                return _pruned(fields, self._pruner, self._options.batch)
        except (LamrError, OSError) as error:
            return {"error": type(error).__name__, "message": str(error)}
        except Exception as error:  # a defect must not take the row with it
            return {"error": type(error).__name__, "message": f"a defect of lamr: {error}"}


def died(deaths: int, why: str = "") -> dict[str, Any]:
    """Return the answer to a job that its workers died of."""
    message = f"{deaths} worker processes died of this row{why}; see that memory suffices"
    return {"error": "WorkerDiedError", "message": message}


def work_in_a_process() -> None:
    """Answer jobs until the pipe is closed whose descriptor is the program's argument; its options come first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    with contextlib.suppress(EOFError, OSError), Connection(int(sys.argv[1])) as pipe:
        worker = RowWorker(pipe.recv())
        while True:
            pipe.send(worker.answer(pipe.recv()))


def _packed(fields: Mapping[str, Any], batch: BatchOptions) -> dict[str, Any]:
    """Return the answer to a checked job about a repository."""
    chosen = {name: fields[name] for name in ("task", "revision") if name in fields}
    chosen |= {"form": fields["format"]} if "format" in fields else {}
    repo = batch.folder / fields["repo"]
    result = pack(
        fields["repo"] if is_url(fields["repo"]) and not repo.exists() else repo,
        fields["query"],
        fields.get("max_tokens") or batch.max_tokens or PackOptions().max_tokens,
        model=batch.model,
        cache=batch.cache,
        options=PackOptions(**chosen),
    )
    return {"text": result.text, "tokens": result.tokens, "files": [each.path for each in result.files],
            "notes": list(result.notes)}  # fmt: skip


def _pruned(fields: Mapping[str, Any], pruner: Pruner, batch: BatchOptions) -> dict[str, Any]:
    """Return the answer to a checked job about code."""
    code = fields["code"] if "code" in fields else _read(place_in(batch.folder, fields["path"]))
    pruned = pruner.prune(
        fields["query"],
        code,
        task=fields.get("task", ""),
        path=fields.get("path"),
        listed="code" in fields,
        max_tokens=fields.get("max_tokens") or batch.max_tokens,
        timeout=batch.timeout,
        effort=fields.get("effort") or batch.effort,
        within=fields.get("within") or batch.within,
        degrade=False,  # a row that meets a fault is an error, which is run again
    )
    return {"text": pruned.text, "tokens": pruned.tokens_out, "kept_lines": list(pruned.kept_lines),
            "relevance": pruned.relevance, "reason": pruned.reason,
            "effort": str(pruned.effort) if pruned.effort else None}  # fmt: skip


def _read(place: str) -> str:
    with open_place(place) as stream:
        data = stream.read(MOST_BYTES + 1)
    decoded = decode(data) if len(data) <= MOST_BYTES else None
    if decoded is None:
        raise OSError(f"{place} is binary, or larger than {MOST_BYTES:,} bytes")
    return decoded.text


def _pruner(options: WorkerOptions) -> Pruner:
    model, timeout = options.batch.model, options.batch.timeout
    if options.server is not None:
        return Pruner(options.server, model=model, timeout=timeout, **options.credentials)
    repository = model or bundled_repository()
    transport = InProcessTransport(repository, threads=options.threads)
    return Pruner(model=repository, transport=transport, timeout=timeout)
