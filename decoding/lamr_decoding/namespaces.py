"""The functions that an array is computed with, by the array API's names: `array_api_compat`'s, or numpy itself.

`array_api_compat` copies all of numpy, its test suite included, which takes longer than decoding a file. The module
knows namespaces; it computes nothing.
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

_KINDS = {"real floating": np.floating, "integral": np.integer}


class _Numpy:
    """numpy with the names of the array API that numpy 1.26 lacks, as far as decoding needs them."""

    concat = staticmethod(np.concatenate)

    @staticmethod
    def astype(values: Any, dtype: Any, *, copy: bool = True) -> Any:
        return np.asarray(values).astype(dtype, copy=copy)

    @staticmethod
    def matrix_transpose(values: Any) -> Any:
        return np.swapaxes(values, -1, -2)

    @staticmethod
    def isdtype(dtype: Any, kind: str | tuple[str, ...]) -> bool:
        kinds = (kind,) if isinstance(kind, str) else kind
        return any(np.issubdtype(dtype, _KINDS[each]) for each in kinds)

    @staticmethod
    def zeros(shape: tuple[int, ...], *, dtype: Any, **_device: Any) -> Any:
        return np.zeros(shape, dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


NUMPY = _Numpy()


def namespace_of(array: Any) -> Any:
    """Return the namespace of an array.

    Raises:
        TypeError: it is no array.
    """
    if array_api_compat.is_numpy_array(array):
        return NUMPY
    return array_api_compat.array_namespace(array)
