"""How a batch is run. This module only checks what is asked for."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from lamr_base.choices import EffortName
from lamr_base.errors import InvalidInputError
from lamr_base.records import dataclass

EFFORT: EffortName = "full"
"""Nobody waits for a row, and its answer shouldn't depend on how busy a machine is."""


@dataclass(frozen=True)
class BatchOptions:
    """How a batch is run.

    Attributes:
        workers: processes, or actors of a cluster.
        servers: addresses that the workers share out among themselves; without any, each has the model in its process.
        credentials: for each server what opens it, as arguments of `Pruner`; never shown. None for open ones.
        folder: what the jobs' relative paths start from; the current one unless another is given. Workers stand
            elsewhere.
        model: the model repository; None for the bundled one.
        cache: see `pack`.
        max_tokens: the budget of jobs that name none: of repositories, and of files if it isn't None.
        timeout: seconds for one file.
        effort, within: of files that name none; see `Pruner.prune`.
        shard_rows, shard_seconds: a shard is written after so many answers, or so long after the first of them.
        retry_errors: whether rows whose answer is an error are run again.
        format: of the answers; see `formats`.
        ray: the address of a Ray cluster's head, `auto` for the one that this machine belongs to, or `local` for one of
            this machine's own; None runs processes of this machine.
        ray_cpus: CPUs that Ray sets aside for a worker. More than a few hundredths bind the batch to the cluster's
            size: a lost node's workers then wait for another node, and their rows with them."""

    workers: int = 1
    servers: tuple[str, ...] = ()
    model: Path | None = None
    cache: Path | None = None
    max_tokens: int | None = None
    timeout: float = 120.0
    shard_rows: int = 100
    shard_seconds: float = 5.0
    retry_errors: bool = False
    format: str = "jsonl"
    ray: str | None = None
    ray_cpus: float = 0.01
    credentials: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    folder: Path = field(default_factory=Path.cwd)
    effort: EffortName = EFFORT
    within: float | None = None

    def __post_init__(self) -> None:
        if self.workers < 1 or self.shard_rows < 1:
            raise InvalidInputError("workers and shard_rows must be at least 1", argument="workers")
        if not 0 < self.ray_cpus < 1_000:
            raise InvalidInputError("ray_cpus must be above 0", argument="ray_cpus")
        if self.credentials and len(self.credentials) != len(self.servers):
            raise InvalidInputError("give credentials for each server or for none", argument="credentials")
        for name in ("model", "cache"):  # workers stand elsewhere
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self.folder / getattr(self, name))

    def access(self, number: int) -> tuple[str | None, Mapping[str, Any]]:
        """Return the server of a worker, counted from 0, and what opens it; None where the model is in its process."""
        if not self.servers:
            return None, {}
        place = number % len(self.servers)
        opens = self.credentials[place] if self.credentials else {}
        files = {name: self.folder / opens[name] for name in ("ca", "cert", "key") if opens.get(name)}
        return self.servers[place], {**opens, **files}
