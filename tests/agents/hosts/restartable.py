"""A real server that tests kill and start again."""

import time

import psutil
from lamr_client import bundled_repository
from lamr_serving import ServerOptions, TritonServer

RECONNECT_SECONDS = 5.0
"""How long the sessions that follow a script wait for their client to connect again; gRPC tries every second."""


class Restartable:
    """A Triton at one port that can be killed and started again."""

    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self._options = ServerOptions(grpc_port=port)
        self._running: TritonServer | None = None

    def start(self, settle: float = RECONNECT_SECONDS) -> None:
        self._running = TritonServer(bundled_repository(), self._options)
        self._running.start()
        time.sleep(settle)

    def kill(self) -> None:
        assert self._running is not None
        psutil.Process(self._running.pid).kill()
        self.stop()

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None
