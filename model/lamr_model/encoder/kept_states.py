"""`KeptStates`: what an encoder made of parts that it read, by content, in bounded memory and on a bounded disk."""

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from lamr_base.cache import MOST_STATES_BYTES, Cache
from numpy.typing import NDArray

from lamr_model.names import STATES

MOST_BYTES = 128 << 20
"""In memory. Of lamr-mini's states that is some 87,000 tokens: the chunks of 9,000 lines, or of a pack."""
KIND = STATES
_AT_ONCE = 32  # entries of one write
_log = logging.getLogger("lamr.cache")
States = NDArray[np.float16]


class KeptStates:
    """States by the tokens of their part; those that were used least lately go first. Threads may share it."""

    def __init__(self, most_bytes: int = MOST_BYTES, file: Path | None = None) -> None:
        """Keep nothing yet. `most_bytes`: of all states together in memory; 0 keeps nothing. `file`: an SQLite file
        that keeps them for other processes, too; it is written when this is closed."""
        self._most, self._bytes = most_bytes, 0
        self._states: OrderedDict[bytes, States] = OrderedDict()
        self._lock = threading.Lock()
        self._cache = Cache(file, _log.warning, MOST_STATES_BYTES)
        self._on_disk = self._cache.keys(KIND)

    @property
    def on_disk(self) -> bool:
        """Whether the file has states of an earlier process."""
        return bool(self._on_disk)

    @staticmethod
    def key(model: str, part: NDArray[np.int64]) -> bytes:
        """Return what a part is kept under: a digest of the model's name and of its tokens, int64 [t]."""
        return hashlib.blake2b(part.tobytes(), digest_size=16, salt=model.encode()[:16]).digest()

    def __contains__(self, key: bytes) -> bool:
        return key in self._states or key.hex() in self._on_disk

    def find(self, parts: Mapping[bytes, NDArray[np.int64]], width: int) -> dict[bytes, States]:
        """Return the states float16 [t, width] of those parts that are kept. `parts`: tokens int64 [t] by their key.
        `width`: of a token's states; what has another one, or isn't finite, isn't what was kept."""
        with self._lock:
            found = {key: self._states[key] for key in parts if key in self._states}
            for key in found:
                self._states.move_to_end(key)
            names = {key.hex(): key for key in parts if key not in found and key.hex() in self._on_disk}
            for name, data in self._cache.get(KIND, names).items():
                key = names[name]
                if len(data) == 2 * width * len(parts[key]):
                    states = np.frombuffer(data, np.float16).reshape(-1, width)
                    if np.isfinite(states).all():
                        found[key] = states
                        self._keep(key, states)
            self._on_disk -= {name for name, key in names.items() if key not in found}
        return found

    def put(self, read: Mapping[bytes, States]) -> None:
        """Keep the states float16 [t, width] of parts by their keys."""
        with self._lock:
            for key, states in read.items():
                self._keep(key, states)

    def close(self) -> None:
        """Write what is new to the file, if there is one. Closing twice is harmless."""
        with self._lock:
            new = [key for key in self._states if key.hex() not in self._on_disk]
            for some in _groups(new):
                self._cache.put(KIND, {key.hex(): self._states[key].tobytes() for key in some})
            self._cache.close()

    def _keep(self, key: bytes, states: States) -> None:
        if key in self._states or states.nbytes > self._most:
            return
        self._states[key] = states
        self._bytes += states.nbytes
        while self._bytes > self._most:
            self._bytes -= self._states.popitem(last=False)[1].nbytes


def _groups(keys: list[bytes]) -> Iterable[list[bytes]]:
    return (keys[first : first + _AT_ONCE] for first in range(0, len(keys), _AT_ONCE))
