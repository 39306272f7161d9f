"""`lamr front`: tenants, keys, quotas and fair queues before a pool of servers."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_base.errors import visible
from typer import Argument, Option

from lamr_cli.arguments import AsJson
from lamr_cli.exits import SERVER_TROUBLE, end_well_on_sigterm
from lamr_cli.printing import say, say_meanwhile

if TYPE_CHECKING:
    from lamr_serving.front.control import FrontStatus
    from lamr_serving.front.fleet import Fleet

FILE = Path("tenants.toml")
DRAIN_SECONDS = 60.0

Tenants = Annotated[Path, Option("--tenants", "-t", help="The file of tenants.", envvar="LAMR_TENANTS")]

app = typer.Typer(
    name="front",
    no_args_is_help=True,
    help="Serve many tenants from a pool of servers, with keys, quotas and fair shares.\n\n"
    "lamr front key alice bob\n\n"
    "lamr serve --port 8001\n\n"
    "lamr front run",
)


@app.command("key")
def key(
    names: Annotated[list[str], Argument(help="Names of tenants; new ones are added.", metavar="NAME...")],
    days: Annotated[int | None, Option(help="Days until the key expires.", min=1)] = None,
    tenants: Tenants = FILE,
    as_json: AsJson = False,
) -> None:
    """Make an API key for each tenant, print it once and store its hash.

    A tenant may have several keys, so you can hand out a new one before you delete the old one from the file.

    lamr front key alice bob --days 90

    lamr front key carol --tenants tenants.toml --json"""
    from lamr_serving.front.fleet import make_key
    from lamr_serving.front.tenants_file import add_keys

    expires = (
        None if days is None else datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=days)
    )
    fresh = not tenants.exists()
    made = {name: make_key(expires) for name in names}
    add_keys(tenants, {name: stored for name, (_, stored) in made.items()})
    if as_json:
        say(json.dumps({name: shown for name, (shown, _) in made.items()}))
    else:
        for name, (shown, _) in made.items():
            say(f"{name}  {shown}")
    say(
        f"lamr: {'wrote' if fresh else 'added to'} {tenants}; the keys are shown only now. "
        + ("" if fresh else "Run `lamr front reload` to apply them."),
        err=True,
    )


@app.command("check")
def check(tenants: Tenants = FILE) -> None:
    """Check the file of tenants, and let HAProxy check the configuration made from it. Nothing is changed.

    lamr front check --tenants tenants.toml

    lamr front check"""
    import tempfile

    from lamr_serving.front.haproxy import check_config, find_haproxy
    from lamr_serving.front.rendering import CONFIG, FrontPaths, render, write
    from lamr_serving.front.tenants_file import read_fleet

    fleet = read_fleet(tenants)
    with tempfile.TemporaryDirectory(prefix="lamr-front-") as name:
        folder = Path(name)
        places = FrontPaths(folder, folder)
        write(render(fleet, places, str(tenants)), places)
        check_config(find_haproxy(), folder / CONFIG)
    say(_fleet_text(fleet))


@app.command("render")
def render_files(
    output: Annotated[Path, Option("--output", "-o", help="The folder to write into.", file_okay=False)],
    tenants: Tenants = FILE,
    sockets: Annotated[
        Path | None, Option(help="Folder for HAProxy's sockets; default: the output folder.")
    ] = None,
) -> None:
    """Write HAProxy's configuration and maps into a folder, to run HAProxy yourself.

    Only their owner can read the files: give them to the user that HAProxy starts as.

    lamr front render -o /etc/haproxy/lamr

    lamr front render -o rendered --sockets /run/haproxy"""
    from lamr_serving.errors import FrontError
    from lamr_serving.front.rendering import FrontPaths, render, write
    from lamr_serving.front.tenants_file import read_fleet

    folder = output.absolute()
    places = FrontPaths(folder, sockets.absolute() if sockets else folder)
    files = render(read_fleet(tenants), places, str(tenants))
    try:
        written = write(files, places)
    except OSError as error:
        raise FrontError(f"{error.filename}: {error.strerror}") from error
    for file in written:
        say(file)


@app.command("run")
def run(tenants: Tenants = FILE) -> None:
    """Run the front until Ctrl-C or SIGTERM, and restart HAProxy if it dies.

    Standard output gets a line of JSON for each request, standard error the changes of replicas.

    lamr front run --tenants tenants.toml

    lamr front run"""
    end_well_on_sigterm()
    from lamr_serving.front.running import run as run_front

    if status := run_front(tenants):
        raise typer.Exit(SERVER_TROUBLE if status else 0)


@app.command("reload")
def reload(tenants: Tenants = FILE) -> None:
    """Apply a changed file of tenants. No request is lost; deleted keys stop working at once.

    lamr front reload --tenants tenants.toml

    lamr front reload"""
    from lamr_serving.front import control

    say(_fleet_text(control.reload(tenants)))


@app.command("drain")
def drain(
    replica: Annotated[str, Argument(help="The replica's name in the file of tenants.")],
    undo: Annotated[bool, Option("--undo", help="Send it requests again.")] = False,
    timeout: Annotated[float, Option(help="Seconds to wait.", min=0)] = DRAIN_SECONDS,
    tenants: Tenants = FILE,
) -> None:
    """Send a replica no new requests and wait until it has answered the others. Then you can stop it.

    lamr front drain one

    lamr front drain one --undo"""
    from lamr_serving.front import control

    if undo:
        control.undrain(tenants, replica)
        say(f"{replica} gets requests again as soon as it is ready")
        return
    shown = sys.stderr.isatty()

    def on_wait(left: int) -> None:
        if shown:
            say_meanwhile(f"lamr: {replica} has {left} requests under way")

    control.drain(tenants, replica, timeout, on_wait)
    if shown:
        say_meanwhile("")
    say(f"{replica} is drained: stop it, start it again, then `lamr front drain {replica} --undo`")


@app.command("status")
def status(tenants: Tenants = FILE, as_json: AsJson = False) -> None:
    """Show replicas, and each tenant's requests under way, waiting and refused.

    The exit code is 3 if no front of this file runs, or no replica is up.

    lamr front status --json

    lamr front status --tenants tenants.toml"""
    from lamr_serving.front.control import read_status

    front = read_status(tenants)
    say(json.dumps(dataclasses.asdict(front)) if as_json else _status_text(front))
    if not any(replica.state == "up" for replica in front.replicas):
        raise typer.Exit(SERVER_TROUBLE)


def _fleet_text(fleet: Fleet) -> str:
    windows = fleet.windows()
    lines = [f"{len(fleet.replicas)} replicas take {fleet.capacity} requests at once"]
    for tenant in fleet.tenants:
        limits = [f"{tenant.limits.concurrent} at once"]
        if tenant.limits.requests:
            limits.append(f"{tenant.limits.requests:,} requests")
        if tenant.limits.bytes:
            limits.append(f"{tenant.limits.bytes:,} bytes")
        period = f" in {fleet.settings.quota_seconds} s" if len(limits) > 1 else ""
        access = f"{len(tenant.keys)} keys, {len(tenant.certificates)} certificates"
        lines.append(
            f"  {tenant.name:<16} window {windows[tenant.name]}, weight {tenant.weight:g}, {access}, "
            f"{', '.join(limits)}{period}"
        )
    return "\n".join(lines)


def _status_text(front: FrontStatus) -> str:
    replicas = [("replica", "state", "under way", "answered", "last check")]
    replicas += [
        (each.name, each.state, f"{each.under_way} of {each.capacity}", f"{each.answered:,}", each.why)
        for each in front.replicas
    ]
    tenants = [("tenant", "in the pool", "queued", "requests", "refused", "wait")]
    tenants += [
        (
            each.name,
            f"{each.in_pool} of {each.window}",
            f"{each.queued}",
            f"{each.requests:,}",
            f"{each.refused:,}",
            f"{each.queue_ms} ms",
        )
        for each in front.tenants
    ]
    refused = f"refused {front.refused_strangers:,} requests without a valid key"
    waiting = f"{front.waiting} requests wait for a replica; {refused}"
    return f"{_columns(replicas)}\n\n{_columns(tenants)}\n\n{waiting}"


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    rows = [tuple(visible(cell) for cell in row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
