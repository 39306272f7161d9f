"""A transport of one's own: it remembers answers, so that nobody asks twice about a chunk that didn't change.

python docs/examples/own_transport.py FILE "How are retries limited?"
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from lamr_client import ChunkRequest, ChunkResult, InProcessTransport, Pruner, Transport, bundled_repository


class CachingTransport(Transport):
    """Asks another transport, once for each chunk. An agent reads the same file again and again."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._known: dict[bytes, ChunkResult] = {}
        self.hits = 0

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        """Return the answer from memory, or ask the inner transport."""
        key = hashlib.sha256(request.input_ids.tobytes() + repr(request.document_span).encode()).digest()
        if key in self._known:
            self.hits += 1
        else:
            self._known[key] = self._inner.infer(request, timeout)
        return self._known[key]

    def close(self) -> None:
        """Close the inner transport, too."""
        self._inner.close()


def main() -> None:
    """Prune a file, change its last line, prune again."""
    file, query = sys.argv[1:]
    code = Path(file).read_text(encoding="utf-8")
    transport = CachingTransport(InProcessTransport(bundled_repository()))
    with Pruner(transport=transport) as pruner:
        first = pruner.prune(query, code, path=file, effort="full")
        second = pruner.prune(query, code + "\n# the end\n", path=file, effort="full")
    print(
        f"first time {first.timings.infer:.3f} s, second time {second.timings.infer:.3f} s; "
        f"{transport.hits} chunks were known"
    )


if __name__ == "__main__":
    main()
