"""Serving: the bundled Triton server on a model repository, and what a running server says about itself.

    from lamr_serving import ServerOptions, TritonServer

    with TritonServer(repository, ServerOptions(grpc_port=8001)) as server:
        print(server.addresses.grpc)

Each name is loaded when it is used, because the processes that run the models import this package too and need little
of it."""

from typing import TYPE_CHECKING

from lamr_base.lazy import lazily

if TYPE_CHECKING:
    from lamr_serving.errors import ModelRepositoryError, ServerStartError
    from lamr_serving.launcher.server import TritonServer, serve
    from lamr_serving.launcher.server_options import ServerOptions
    from lamr_serving.repository_check import check_repository
    from lamr_serving.status import LocalStatus, ModelStatus, ServerStatus, local_status, server_status

__all__ = ["ModelRepositoryError", "ServerOptions", "ServerStartError", "TritonServer", "check_repository"]
__all__ += ["LocalStatus", "ModelStatus", "ServerStatus", "local_status", "serve", "server_status"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "lamr_serving.errors": "ModelRepositoryError ServerStartError",
        "lamr_serving.launcher.server": "TritonServer serve",
        "lamr_serving.launcher.server_options": "ServerOptions",
        "lamr_serving.repository_check": "check_repository",
        "lamr_serving.status": "LocalStatus ModelStatus ServerStatus local_status server_status",
    },
)
