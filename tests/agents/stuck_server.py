"""A local server whose model never answers: `python -m tests.agents.stuck_server SOCKET STORE ASKED`.

It makes the file ASKED when the model is asked, so that a test knows when to kill it."""

import sys
import threading
from pathlib import Path
from typing import Any

from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store

from tests.agents.samples import pruner


def main(socket: str, store: str, asked: str) -> None:
    def never(_request: Any) -> Any:
        Path(asked).touch()
        threading.Event().wait()

    LocalServer(Path(socket), Store(Path(store)), lambda: pruner(never), seconds=600.0).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
