"""Two real servers, and a front before them whose tenants each measurement writes anew.

The module knows files, ports and processes. It measures nothing but the CPU time that the kernel has counted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from lamr_client import AsyncGrpcTransport, parse_connection
from lamr_front import control
from lamr_front.fleet import hash_of, make_key
from lamr_front.running import Front
from lamr_serving import ServerOptions, TritonServer
from lamr_serving.errors import ServerStartError
from lamr_serving.launcher.addresses import free_ports

STARTS = 4  # of a server, before a machine that gives it no CPU ends the benchmark
READY_SECONDS = 180.0


@dataclass
class Site:
    """Two servers, and a front.

    Attributes:
        fingerprints: of the models that the servers have, if the front is told.
    """

    folder: Path
    servers: list[TritonServer]
    keys: dict[str, str] = field(default_factory=dict)
    front: Front | None = None
    fingerprints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.port, self.operations = free_ports("127.0.0.1", 2)
        self.file = self.folder / "tenants.toml"
        self.log = self.folder / "requests.jsonl"

    def tenants(self, tables: dict[str, str], settings: str = "") -> None:
        """Write the file, and put it into force if the front runs."""
        lines = [
            f'[front]\nlisten = "127.0.0.1:{self.port}"\noperations = "127.0.0.1:{self.operations}"\n{settings}'
        ]
        for number, server in enumerate(self.servers):
            lines.append(f'[replicas.r{number}]\ngrpc = "{server.addresses.grpc}"')
            lines += [f'fingerprint = "{each}"' for each in self.fingerprints[number : number + 1]]
        for name, table in tables.items():
            key = self.keys.setdefault(name, make_key()[0])
            lines.append(
                f'[tenants.{name}]\n{table}\n[[tenants.{name}.keys]]\nhash = "sha256:{hash_of(key)}"'
            )
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if self.front is not None:
            control.reload(self.file)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def transport(self, tenant: str) -> AsyncGrpcTransport:
        return AsyncGrpcTransport(parse_connection(self.address, api_key=self.keys[tenant]))

    def front_cpu(self) -> float:
        """CPU seconds that HAProxy's processes have taken."""
        assert self.front is not None
        master = psutil.Process(self.front.pid)
        return cpu_seconds([master, *master.children()])

    def servers_cpu(self) -> float:
        """CPU seconds that the servers and their models' processes have taken."""
        servers = [psutil.Process(server.pid) for server in self.servers]
        return cpu_seconds([each for own in servers for each in (own, *own.children(recursive=True))])

    def await_replicas(self) -> None:
        """Wait until the front finds every server ready.

        Raises:
            SystemExit: it doesn't; with what the front and the servers themselves say.
        """
        time.sleep(0.6)  # a check must see it first
        deadline = time.monotonic() + READY_SECONDS
        while any(each.state != "up" for each in control.read_status(self.file).replicas):
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"the front doesn't find every server ready within {READY_SECONDS:g} s\n{self._condition()}"
                )
            time.sleep(0.1)

    def _condition(self) -> str:
        replicas = control.read_status(self.file).replicas
        states = [f"{each.name} is {each.state}: {each.why}" for each in replicas]
        logs = [f"{each.addresses.grpc} says last:\n{each.log()[-2000:]}" for each in self.servers]
        return "\n".join(states + logs)


def start_server(stack: ExitStack, repository: Path, options: ServerOptions) -> TritonServer:
    """Start a server that ends with the stack.

    A model's process that gets no CPU for a while ends itself, and a server that starts then gives up (docs/serve.md).
    That happens on a machine that is busy with other work, so it is tried again.
    """
    for left in reversed(range(STARTS)):
        try:
            return stack.enter_context(TritonServer(repository, options))
        except ServerStartError:
            if not left:
                raise
    raise AssertionError("unreachable")


def cpu_seconds(processes: Iterable[psutil.Process]) -> float:
    """CPU time of all threads of some processes, which the kernel counts in nanoseconds."""
    found = Counter[str]()
    for process in processes:
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            found["ns"] += int((task / "schedstat").read_text().split()[0])
    return found["ns"] / 1e9
