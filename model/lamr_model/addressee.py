"""Whether a request that reaches a model is for it: the server may have been replaced since the client looked.

The module is light, because the models' `model.py` import it in every process that Triton starts."""

import json
from collections.abc import Mapping
from typing import Any

from lamr_model.names import FINGERPRINT_PARAMETER


def own_fingerprint(model_config: str) -> str:
    """Return the fingerprint that a model's configuration, as JSON, carries; empty if it carries none."""
    parameters: Mapping[str, Any] = json.loads(model_config)["parameters"]
    return str(parameters.get(FINGERPRINT_PARAMETER, {}).get("string_value", ""))


def check_addressee(parameters: str, fingerprint: str) -> None:
    """Refuse a request for another model.

    Args:
        parameters: the request's, as JSON; empty where there are none.
        fingerprint: this model's; an empty one takes any request.

    Raises:
        ValueError: the fingerprint that came with the request is another one."""
    wanted = json.loads(parameters).get(FINGERPRINT_PARAMETER) if parameters else None
    if wanted is not None and fingerprint and wanted != fingerprint:
        raise ValueError(f"this model's fingerprint is {fingerprint}, but the request is for {wanted}")
