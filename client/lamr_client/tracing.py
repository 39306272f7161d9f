"""Which trace a call belongs to, so that what a front logs and what Triton exports can be found by it.

A trace is the one that the caller names, or else OpenTelemetry's current span, or else the one that the process was
started in. The module knows where a trace is found and W3C's form of it. It makes no spans, and never imports an
OpenTelemetry that the caller's program hasn't."""

import contextlib
import contextvars
import os
import re
import sys
from collections.abc import Iterator

from lamr_base.admission import TRACE_FORM, TRACE_METADATA, TRACE_STATE_METADATA

# What OpenTelemetry calls these where they are handed to a process that is started.
VARIABLE, STATE_VARIABLE = "TRACEPARENT", "TRACESTATE"
MOST_STATE_CHARS = 512  # what everybody must pass on; more may be dropped

_named: contextvars.ContextVar[str | None] = contextvars.ContextVar("lamr_traceparent", default=None)
_NO_TRACE, _NO_SPAN, _NO_VERSION = "0" * 32, "0" * 16, "ff"


@contextlib.contextmanager
def in_trace(traceparent: str | None) -> Iterator[None]:
    """Let the calls of a block belong to a trace. None leaves it to OpenTelemetry and the environment."""
    token = _named.set(traceparent) if traceparent is not None else None
    try:
        yield
    finally:
        if token is not None:
            _named.reset(token)


def is_traceparent(text: str) -> bool:
    """Whether a text is `00-<trace>-<span>-<flags>`, as the W3C recommendation "Trace Context" has it."""
    if not isinstance(text, str) or not re.fullmatch(TRACE_FORM, text):
        return False
    version, trace, span, _ = text.split("-")
    return version != _NO_VERSION and trace != _NO_TRACE and span != _NO_SPAN


def trace_metadata() -> dict[str, str]:
    """The metadata that says which trace a call belongs to; none where it belongs to none."""
    if (named := _named.get()) is not None:
        return {TRACE_METADATA: named}
    return _of_opentelemetry() or _of_environment()


def _of_opentelemetry() -> dict[str, str]:
    if "opentelemetry.trace" not in sys.modules:  # then nobody has begun a span either
        return {}
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
        TraceContextTextMapPropagator,
    )

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier


def _of_environment() -> dict[str, str]:
    """What isn't of W3C's form is ignored, as W3C says."""
    if not is_traceparent(traceparent := os.environ.get(VARIABLE, "")):
        return {}
    state = os.environ.get(STATE_VARIABLE, "")
    usable = 0 < len(state) <= MOST_STATE_CHARS and state.isascii() and state.isprintable()
    return {TRACE_METADATA: traceparent} | ({TRACE_STATE_METADATA: state} if usable else {})
