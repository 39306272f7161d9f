"""`LineWeights`: what was learned for the scoring of lines, as it lies beside a model's `lamr.json`.

The file is an archive of arrays without pickles: those of the network, and those of the associations and their own
network where the model has them. The module knows the file; what its numbers do, `network` and `associations` know.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lamr_errors.python_parser import PYTHON_PARSER
from numpy.typing import NDArray

from lamr_contract.errors import ModelMismatchError
from lamr_contract.files import MIB, read_regular
from lamr_contract.scoring.associations import Associations
from lamr_contract.scoring.network import LineNetwork

_MOST_BYTES, _MOST_UNPACKED_BYTES = 64 * MIB, 256 * MIB
# The beginnings of the arrays' names in the file.
_NETWORK, _ASSOCIATIONS, _THEIR_NETWORK = "network.", "associations.", "associations.network."
# What numpy and zipfile raise for files that are truncated, damaged, of another format, or pickled. The decoder has
# nearly the same list, but a client without a model in its process doesn't load it.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    MemoryError,
    RuntimeError,
)


@dataclass(frozen=True, eq=False)
class LineWeights:
    """What was learned.

    Attributes:
        network: gives lines log-odds by their features.
        associations: which words go together; None for a model whose network doesn't read what they say.
    """

    network: LineNetwork
    associations: Associations | None = None

    def to_bytes(self) -> bytes:
        """Return the file that `load_weights` reads."""
        arrays = {_NETWORK + name: values for name, values in self.network.to_arrays().items()}
        if (learned := self.associations) is not None:
            arrays |= {_ASSOCIATIONS + name: values for name, values in learned.to_arrays().items()}
            arrays |= {_THEIR_NETWORK + name: values for name, values in learned.network.to_arrays().items()}
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)
        return stream.getvalue()


def load_weights(path: Path) -> LineWeights:
    """Read what `LineWeights.to_bytes` wrote.

    Raises:
        ModelMismatchError: the file is missing, or no such file.
    """
    try:
        with np.load(io.BytesIO(read_regular(path, _MOST_BYTES)), allow_pickle=False) as data:
            if sum(each.file_size for each in data.zip.infolist()) > _MOST_UNPACKED_BYTES:
                raise ValueError(f"it unpacks to more than {_MOST_UNPACKED_BYTES:,} bytes")
            with PYTHON_PARSER:
                arrays = {name: data[name] for name in data.files}
        network = LineNetwork.from_arrays(_within(arrays, _NETWORK))
        theirs, learned = _within(arrays, _THEIR_NETWORK), _within(arrays, _ASSOCIATIONS)
        if not learned:
            return LineWeights(network)
        return LineWeights(network, Associations.from_arrays(learned, LineNetwork.from_arrays(theirs)))
    except FileNotFoundError as error:
        raise ModelMismatchError(
            f"{path} is missing, but the model's scoring needs it; export the model again", path=path
        ) from error
    except _UNREADABLE as error:
        raise ModelMismatchError(
            f"{path} can't be read ({error}); export the model again", path=path
        ) from error


def _within(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
