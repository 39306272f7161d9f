"""The lines of Triton's log that tell why it failed."""

from __future__ import annotations

import re

MOST_LINES = 30
TAIL_BYTES = 1 << 18
_ENTRY = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\]]+\] ?")
_USAGE = re.compile(r"^.*tritonserver: .*option.*$", re.MULTILINE)
# Triton logs this on every machine without a GPU
_NOISE = (
    "CudaDriverHelper has not been initialized",
    "CUDA driver version is insufficient",
    "pinned system memory",
)
_CRASH = "Signal ("  # Triton's own handler; the stack follows
_TABLE = re.compile(r"^[+|]")


def excerpt(text: str, most: int = MOST_LINES, *, errors_only: bool = False) -> str:
    """The last errors of a log with their continuation lines, each once; the last lines where there are no errors.

    Tables are left out, because they repeat the errors. `errors_only` gives nothing where there are no errors.
    """
    if refused := _USAGE.findall(text):  # an unknown flag; hundreds of lines of help follow it
        return "\n".join(refused)
    chosen: dict[str, None] = {}
    others: list[str] = []
    in_error = False
    for line in text.splitlines():
        if _TABLE.match(line) or not line.strip() or any(noise in line for noise in _NOISE):
            continue
        entry = _ENTRY.match(line)
        in_error = line[0] in "EF" if entry else in_error or not others or line.startswith(_CRASH)
        content = _ENTRY.sub("", line)
        if in_error:
            chosen[content] = None
        else:
            others.append(content)
    lines = list(chosen) or ([] if errors_only else others)
    return "\n".join(lines[-most:])


def port_was_taken(text: str) -> bool:
    """Whether the server failed because somebody else listens on one of its ports."""
    return "already in use" in text or "failed to start Metrics service: Unavailable" in text
