"""How a client says who it is, which model it asks and which trace it acts in, and what a front says to one that comes
too often; and how long a client waits.

Both sides read it here."""

import re

from lamr_base.expressions import expression

KEY_METADATA = "authorization"  # gRPC's metadata keys are lower case
KEY_SCHEME = "Bearer "

# A front before two versions of a model sends a call to the right one.
FINGERPRINT_METADATA = "lamr-fingerprint"

# Of the W3C recommendation "Trace Context": version, trace, the caller's span, flags. The front logs it, Triton's spans
# are its children.
TRACE_METADATA = "traceparent"
TRACE_STATE_METADATA = "tracestate"
TRACE_FORM = "[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"

COME_BACK = "come back in {seconds} s"
TIMEOUT_SECONDS = 60.0
"""How long one pruning may take where nothing else is said, from Python as by the command: a large file on a CPU."""
MOST_WAIT_SECONDS = 86_400.0
_COME_BACK = expression(re.escape(COME_BACK).replace(r"\{seconds\}", r"(\d+(?:\.\d+)?)"))


def key_metadata(api_key: str | None) -> dict[str, str]:
    """The metadata that carries an API key; none without a key."""
    return {} if api_key is None else {KEY_METADATA: f"{KEY_SCHEME}{api_key}"}


def fingerprint_metadata(fingerprint: str | None) -> dict[str, str]:
    """The metadata that says which model a call is for; none where the caller takes any."""
    return {} if fingerprint is None else {FINGERPRINT_METADATA: fingerprint}


def seconds_to_wait(message: str) -> float | None:
    """The seconds after which a refusal's message says to come back, a day at the most; None if it doesn't say."""
    found = _COME_BACK.search(message)
    return min(float(found[1]), MOST_WAIT_SECONDS) if found else None
