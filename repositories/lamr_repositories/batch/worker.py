"""One worker process of a batch: it takes jobs from a pipe, one by one, and sends back an answer or a named error.

It ends when the other end of the pipe is closed, which happens whenever the parent dies. This module knows one job at a
time; which jobs there are and what becomes of answers is `run`'s matter.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lamr_client import InProcessTransport, LamrError, Pruner
from lamr_contract.spec import bundled_repository

from lamr_repositories.options import PackOptions
from lamr_repositories.pack import pack
from lamr_repositories.walk import MOST_BYTES, decode


@dataclass(frozen=True)
class WorkerOptions:
    """What every job of a worker is run with.

    Attributes:
        server: where the model is; None for this process.
        model: the model repository; None for the bundled one.
        threads: CPU threads of a model in this process.
        cache: see `pack`.
        max_tokens: the budget of jobs that name none: of repositories, and of files if it isn't None.
        timeout: seconds for one file.
    """

    server: str | None = None
    model: Path | None = None
    threads: int | None = None
    cache: Path | None = None
    max_tokens: int | None = None
    timeout: float = 120.0


def work(pipe: Connection, options: WorkerOptions) -> None:
    """Answer jobs until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    pruner: Pruner | None = None
    while True:
        try:
            fields = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            pruner = pruner or _pruner(options)
            answer = answer_job(fields, pruner, options)
        except (LamrError, OSError) as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        except Exception as error:  # a defect must not take the row with it
            answer = {"error": type(error).__name__, "message": f"a defect of lamr: {error}"}
        try:
            pipe.send(answer)
        except OSError:
            return


def answer_job(fields: Mapping[str, Any], pruner: Pruner, options: WorkerOptions) -> dict[str, Any]:
    """Return the answer to one checked job.

    Raises:
        LamrError, OSError: the job can't be done.
    """
    if "repo" in fields:
        chosen = {"form": fields.get("format"), "ranker": fields.get("ranker"), "revision": fields.get("rev")}
        result = pack(
            fields["repo"],
            fields["query"],
            fields.get("max_tokens") or options.max_tokens or PackOptions().max_tokens,
            pruner=pruner,
            model=options.model,
            server=options.server,
            cache=options.cache,
            options=PackOptions(**{name: value for name, value in chosen.items() if value is not None}),
        )
        return {"text": result.text, "tokens": result.tokens, "files": [each.path for each in result.files],
                "notes": list(result.notes)}  # fmt: skip
    code = fields["code"] if "code" in fields else _read(Path(fields["path"]))
    pruned = pruner.prune(
        fields["query"],
        code,
        path=fields.get("path"),
        max_tokens=fields.get("max_tokens") or options.max_tokens,
        timeout=options.timeout,
    )
    return {"text": pruned.text, "tokens": pruned.tokens_out, "kept_lines": list(pruned.kept_lines),
            "relevance": pruned.relevance, "reason": pruned.reason}  # fmt: skip


def _read(path: Path) -> str:
    with path.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    text = decode(data) if len(data) <= MOST_BYTES else None
    if text is None:
        raise OSError(f"{path} is binary, or larger than {MOST_BYTES:,} bytes")
    return text


def _pruner(options: WorkerOptions) -> Pruner:
    if options.server is not None or options.threads is None:
        return Pruner(options.server, model=options.model, timeout=options.timeout)
    repository = options.model or bundled_repository()
    transport = InProcessTransport(repository, threads=options.threads)
    return Pruner(model=repository, transport=transport, timeout=options.timeout)
