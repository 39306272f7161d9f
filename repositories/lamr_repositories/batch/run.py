"""Runs a file of jobs: exactly one answer or one named error a row, whatever dies.

What was written before this process died is not done again. This module finds out what is left to do; `local_run` and
`ray_run` do it.
"""

from __future__ import annotations

import os
import time

from lamr_repositories.batch.jobs import read_jobs
from lamr_repositories.batch.local_run import run_locally
from lamr_repositories.batch.options import BatchOptions
from lamr_repositories.batch.ray_run import run_on_ray
from lamr_repositories.batch.shards import BatchCount, Gathering, Shards
from lamr_repositories.progress import OnProgress


def run_batch(
    jobs: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: BatchOptions | None = None,
    on_progress: OnProgress | None = None,
) -> BatchCount:
    """Run the jobs of a file that have no answer yet.

    Args:
        jobs: JSONL or Parquet, a path or a URL; see the guide for its fields.
        output: the folder or URL of the answers, which is made.
        options: see `BatchOptions`.
        on_progress: called with what is being done, the rows done and their number.

    Raises:
        RepositoryError: the file can't be read or has an id twice, or another batch writes to the folder.
        MissingPackageError: what Parquet, a URL or Ray needs isn't installed.
        ClusterError: the cluster can't be used, or gave up.
    """
    options = options or BatchOptions()
    begin = time.monotonic()
    shards = Shards(output, options.format)
    try:
        if options.retry_errors:
            shards.forget_errors()
        done = shards.done()
        ids = [
            job.id for job in read_jobs(jobs)
        ]  # the jobs themselves are read again, one by one, as they are run
        count = BatchCount(
            rows=len(ids),
            before=sum(name in done for name in ids),
            failed_before=sum(done.get(name, False) for name in ids),
        )
        on_progress = on_progress or (lambda *_: None)
        gathering = Gathering(shards, count, on_progress, options.shard_rows, options.shard_seconds)
        left = (job for job in read_jobs(jobs) if job.id not in done)
        run = run_locally if options.ray is None else run_on_ray
        try:
            run(left, count.rows - count.before, gathering, options)
        finally:
            gathering.flush(now=True)
        count.seconds = time.monotonic() - begin
        return count
    finally:
        shards.close()
