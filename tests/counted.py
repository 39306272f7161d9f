"""What a server has counted, once it has counted it: Triton counts a batch after it has answered it."""

import time

from lamr_serving import ModelStatus, server_status

MODELS = ("lamr_encoder", "lamr_decoder")


def counted(
    address: str, since: dict[str, ModelStatus] | None = None, more: int = 0, seconds: float = 10
) -> dict[str, ModelStatus]:
    """A server's models by name, as soon as encoder and decoder have `more` requests than before, or time is up."""
    until = time.monotonic() + seconds
    while True:
        models = {model.name: model for model in server_status(address).models}
        if since is None or time.monotonic() > until:
            return models
        if all(models[name].requests - since[name].requests >= more for name in MODELS):
            return models
        time.sleep(0.02)
