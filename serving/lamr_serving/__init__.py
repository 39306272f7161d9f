"""Serving: the bundled Triton server on a model repository, and what a running server says about itself.

    from lamr_serving import ServerOptions, TritonServer

    with TritonServer(repository, ServerOptions(grpc_port=8001)) as server:
        print(server.addresses.grpc)

Each name is loaded when it is used, because the processes that run the models import this package too and need little
of it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamr_serving.errors import ModelRepositoryError, ServerStartError
    from lamr_serving.launcher.server import TritonServer, serve
    from lamr_serving.launcher.server_options import ServerOptions
    from lamr_serving.repository_check import check_repository
    from lamr_serving.status import LocalStatus, ModelStatus, ServerStatus, local_status, server_status

__all__ = ["ModelRepositoryError", "ServerOptions", "ServerStartError", "TritonServer", "check_repository"]
__all__ += ["LocalStatus", "ModelStatus", "ServerStatus", "local_status", "serve", "server_status"]

_HOMES = {
    "errors": ("ModelRepositoryError", "ServerStartError"),
    "launcher.server": ("TritonServer", "serve"),
    "launcher.server_options": ("ServerOptions",),
    "repository_check": ("check_repository",),
    "status": ("LocalStatus", "ModelStatus", "ServerStatus", "local_status", "server_status"),
}


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'lamr_serving' has no attribute {name!r}")
    return getattr(importlib.import_module(f"lamr_serving.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
