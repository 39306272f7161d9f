"""Which machines the bundled Triton runs on; any machine can ask, since nothing of the launcher is imported."""

from __future__ import annotations

import platform
import sys

from lamr_errors import how_to_install

from lamr_serving.errors import ServerStartError


def check_machine() -> None:
    """Refuse a machine that the bundled Triton isn't built for.

    Raises:
        ServerStartError: this isn't Linux on x86-64; the message names what works here.
    """
    processor = platform.machine().lower()
    if sys.platform != "linux" or processor not in ("x86_64", "amd64"):
        raise ServerStartError(
            f"the bundled Triton runs on Linux x86-64 only, and this is {platform.system()} on {processor}; prune in "
            f"process ({how_to_install('local')}), or serve the model with a container (docs/serve.md)"
        )
