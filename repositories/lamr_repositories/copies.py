"""Finds pieces that a repository holds more than once: build output, committed bundles, the same function twice.

The one at the source counts. What else a file has that is mostly copies comes after everything else.
"""

from __future__ import annotations

import numpy as np
from lamr_contract.arrays import Float64Array

from lamr_repositories.kinds import is_built
from lamr_repositories.lexical import Pieces
from lamr_repositories.scores import OFF_TOPIC

_MOSTLY = 0.8
"""The share of a file's terms in copied pieces from which all of the file is a copy."""
_BUILT_MOSTLY = 0.2
"""The same for a file in a folder that builds write into: bundlers change a part of what they copy."""


def penalties(pieces: Pieces, of_files: Float64Array) -> Float64Array:
    """Return what P pieces lose, float64 [P]: what their files lose for being no source, float64 [F]; copies infinity.

    Of equal pieces that of the least loss counts, then one outside of folders for build output, of the shortest file,
    nearest to the root.
    """
    files = len(pieces.paths)
    sizes = np.bincount(pieces.file, pieces.lengths, files)
    built = np.array([is_built(path) for path in pieces.paths], np.bool_)
    depths = [path.count("/") for path in pieces.paths]
    source_first = list(zip(of_files, built, sizes, depths, pieces.paths, strict=True))
    place = np.empty(files, np.int64)
    place[sorted(range(files), key=source_first.__getitem__)] = np.arange(files)
    by_digest = np.lexsort((place[pieces.file], pieces.digests))
    digests = pieces.digests[by_digest]
    copies = np.zeros(len(digests), np.bool_)
    copies[by_digest[1:]] = (digests[1:] == digests[:-1]) & (digests[1:] != 0)
    share = np.bincount(pieces.file, pieces.lengths * copies, files) / np.maximum(sizes, 1.0)
    whole = share >= np.where(built, _BUILT_MOSTLY, _MOSTLY)
    lost = of_files[pieces.file] + OFF_TOPIC * whole[pieces.file]
    return np.asarray(np.where(copies, np.inf, lost), np.float64)
