"""`KeptStates`: what an encoder made of parts that it read, by content, in bounded memory."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 128 << 20
"""Of lamr-mini's states that is some 87,000 tokens: the chunks of 9,000 lines, or of a pack."""
States = NDArray[np.float16]


class KeptStates:
    """States by the tokens of their part; those that were used least lately go first. Threads may share it."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Keep nothing yet.

        Args:
            most_bytes: of all states together; 0 keeps nothing.
        """
        self._most, self._bytes = most_bytes, 0
        self._states: OrderedDict[bytes, States] = OrderedDict()
        self._lock = threading.Lock()

    @staticmethod
    def key(part: NDArray[np.int64]) -> bytes:
        """Return what a part is kept under: a digest of its tokens, int64 [t]."""
        return hashlib.blake2b(part.tobytes(), digest_size=16).digest()

    def __contains__(self, key: bytes) -> bool:
        return key in self._states

    def get(self, key: bytes) -> States | None:
        """Return a part's states float16 [t, D], or None where they aren't there."""
        with self._lock:
            states = self._states.get(key)
            if states is not None:
                self._states.move_to_end(key)
            return states

    def put(self, key: bytes, states: States) -> None:
        """Keep a part's states float16 [t, D]."""
        with self._lock:
            if key in self._states or states.nbytes > self._most:
                return
            self._states[key] = states
            self._bytes += states.nbytes
            while self._bytes > self._most:
                self._bytes -= self._states.popitem(last=False)[1].nbytes
