"""Keeps what lamr stands on from reporting home. This is the one place that says which variables do it.

Some of these libraries send what they are used for, or ask for newer versions, unless a variable says that they must
not; most read it once, when they are imported. So `keep_silent` comes before such an import, wherever lamr has one. A
variable that the user has set is left as it is. The module knows names; it imports none of the libraries."""

import os
from typing import Any

SILENCE = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime 1.32: a device id in the user's cache, and events to Microsoft
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, and transformers through it
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "DO_NOT_TRACK": "1",  # https://donottrack.sh, for whatever else asks
}


def missing() -> dict[str, str]:
    """Return the variables that aren't set in this process."""
    return {name: value for name, value in SILENCE.items() if not os.environ.get(name)}


def keep_silent() -> None:
    """Set the missing variables in this process, and so in all that it starts."""
    os.environ.update(missing())


def import_onnxruntime() -> Any:
    """Return the module `onnxruntime`; what lies below `lamr_export` imports it in no other way. Raises `ImportError`:
    it isn't installed."""
    keep_silent()
    import onnxruntime  # noqa: PLC0415  # heavy

    return onnxruntime
