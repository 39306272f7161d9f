"""`lamr batch`: takes a file of jobs about files and repositories, and writes one answer or one error for each."""

import contextlib
import json
import sys
from typing import Annotated, Literal

import typer
from lamr_base.choices import EffortName
from typer import Argument, Option

from lamr_cli.arguments import EFFORT_HELP, AsJson, CacheFile, Model, NoCache, Within, cache_file, credentials
from lamr_cli.exits import INCOMPLETE
from lamr_cli.printing import bar, say

Form = Literal["jsonl", "parquet"]


def batch(
    jobs: Annotated[
        str,
        Argument(
            help="JSONL, or Parquet if its name ends in .parquet: id, query, and path, code or repo in each row. A "
            "path or a URL that fsspec knows.",
            metavar="JOBS",
        ),
    ],
    output: Annotated[
        str,
        Option(
            "--output", "-o", help="Folder or URL of the answers; name it again to continue.", metavar="PLACE"
        ),
    ],
    workers: Annotated[int, Option(help="Number of processes; with --ray, of actors.", min=1)] = 1,
    form: Annotated[Form, Option("--format", help="The format of the answers.")] = "jsonl",
    ray: Annotated[
        str | None,
        Option(
            help="Run on a Ray cluster: HOST:PORT of its head, auto for the cluster that this machine belongs to, or "
            "local to start one here.",
            metavar="ADDRESS|auto|local",
        ),
    ] = None,
    ray_cpus: Annotated[float, Option(help="CPUs that Ray reserves for a worker.")] = 0.01,
    servers: Annotated[
        list[str] | None,
        Option(
            "--server",
            help="HOST:PORT of a server's gRPC port, or https://HOST of a front, with its key in LAMR_API_KEY and its "
            "certificate's authority in LAMR_CA. Workers share several servers. Default: each worker runs the "
            "model in its process. Repeatable.",
            envvar="LAMR_SERVER",
            show_default=False,
        ),
    ] = None,
    max_tokens: Annotated[int | None, Option(help="The budget of rows without one.", min=1)] = None,
    effort: Annotated[EffortName, Option(help=f"For rows without one. {EFFORT_HELP}")] = "full",
    within: Within = None,
    timeout: Annotated[float, Option(help="Seconds for one file.", min=0.001)] = 120.0,
    retry_errors: Annotated[bool, Option("--retry-errors", help="Run failed rows again.")] = False,
    model: Model = None,
    cache: CacheFile = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Prune files and pack repositories, each for its own question.

    Each row gets exactly one answer or one error, even if processes are killed. The same command continues where an
    earlier one stopped. If any answer is an error, the exit code is 4.

    lamr batch jobs.jsonl --output answers --workers 2

    lamr batch s3://bucket/jobs.parquet --output s3://bucket/answers --format parquet --ray auto --workers
    64"""
    import dataclasses
    import fcntl  # noqa: F401  # two runs into one folder must lock it, which Windows can't

    from lamr_repositories import default_cache_file
    from lamr_repositories.batch import BatchOptions, run_batch

    servers = [each for each in servers or () if each]  # an empty one means none, as elsewhere
    options = BatchOptions(
        workers=workers,
        servers=tuple(servers),
        credentials=tuple(credentials(server) for server in servers),
        model=model,
        # Machines of a cluster may share the home folder, and SQLite isn't for many machines.
        cache=cache_file(cache, no_cache, None if ray else default_cache_file()),
        max_tokens=max_tokens,
        timeout=timeout,
        effort=effort,
        within=within,
        retry_errors=retry_errors,
        format=form,
        ray=ray,
        ray_cpus=ray_cpus,
    )
    # Ray reports deaths of workers on standard output, which belongs to the counts.
    quiet = contextlib.redirect_stdout(sys.stderr) if ray else contextlib.nullcontext()
    with quiet, bar() as progress:
        count = run_batch(jobs, output, options, progress)
    if as_json:
        say(json.dumps(dataclasses.asdict(count)))
    else:
        again = f" ({count.failed_before:,} of them with errors)" if count.failed_before else ""
        said = [
            f"{count.rows:,} rows: {count.answered:,} answered, {count.failed:,} with errors, {count.before:,} done "
            f"before{again} · {count.seconds:.1f} s · {count.deaths:,} workers replaced"
        ]
        said += [f"{name}, {rows:,} rows, the first: {first}" for name, (rows, first) in count.errors.items()]
        said += ["--retry-errors runs rows with errors again"] if count.failed or count.failed_before else []
        say("\n".join(said), err=True)
    if count.failed or count.failed_before:
        raise typer.Exit(INCOMPLETE)
