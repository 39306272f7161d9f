"""`EncodedData`: where a text holds bytes that are written out as letters, as notebooks hold their images.

Nobody reads such data, and a model makes nothing of it but thousands of tokens, which say nothing and against which the
rest of the file would be judged. The module knows runs of characters; it knows no format, no tokens and no scores.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np
from lamr_postprocess.layout import LineLayout
from numpy.typing import NDArray

from lamr_contract.arrays import ranges

LEAST_RUN = 512
"""Characters that data has at least: more than any identifier, path or hash."""
_LEAST_SHARE = 0.8  # of a line's characters, for the line to be nothing but data
# Base64 and hexadecimal. The backslash is that of line ends in JSON's strings.
_LETTERS = frozenset(string.ascii_letters + string.digits + "+/=\\")
_WRITES_DATA = np.array([chr(point) in _LETTERS for point in range(128)] + [False])


@dataclass(frozen=True, eq=False)
class EncodedData:
    """The data of a text of c characters and L lines.

    Attributes:
        spans: int64 [k, 2], first and one-past-last character of each piece of data, ascending.
        lines: bool [L], lines that hold hardly anything else.
    """

    spans: NDArray[np.int64]
    lines: NDArray[np.bool_]

    @classmethod
    def of(cls, layout: LineLayout) -> EncodedData:
        """Find a text's data: unbroken runs of at least `LEAST_RUN` characters that could be base64."""
        sizes = layout.spans[:, 1] - layout.spans[:, 0]
        long = np.flatnonzero(sizes >= LEAST_RUN)  # a run lies in one line, because no line end is data
        places = ranges(layout.spans[long, 0], sizes[long])
        written = np.zeros(len(places) + 2, np.int8)
        written[1:-1] = _WRITES_DATA[np.minimum(layout.points[places], 128)]
        edges = np.diff(written)
        begins, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
        runs = ends - begins >= LEAST_RUN
        spans = np.stack([places[begins[runs]], places[ends[runs] - 1] + 1], axis=1)
        line = np.searchsorted(layout.spans[:, 1], spans[:, 0], side="right")
        lengths = np.bincount(line, spans[:, 1] - spans[:, 0], minlength=len(layout.spans))
        return cls(spans, lengths > _LEAST_SHARE * sizes)

    def outside(self, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of n tokens begin outside all data, bool [n].

        Args:
            offsets: int64 [n, 2], first and one-past-last character of each token.
        """
        begun = np.searchsorted(self.spans[:, 0], offsets[:, 0], side="right")
        ended = np.searchsorted(self.spans[:, 1], offsets[:, 0], side="right")
        outside: NDArray[np.bool_] = begun == ended
        return outside

    def note(self) -> str:
        """Return what a user should know of the data, in words."""
        count = int(self.lines.sum())
        if not count:
            return "encoded data (images and the like) within lines was not judged"
        return f"{count} line{'s' * (count != 1)} of encoded data (images and the like) scored 0"
