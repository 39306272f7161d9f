"""An exported graph on onnxruntime's CPU provider, for comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnxruntime
from numpy.typing import NDArray

from lamr_export.errors import ExportError


class ExportedGraph:
    """A session on a file that was just written."""

    def __init__(self, file: Path, outputs: Sequence[str]) -> None:
        """Load the graph.

        Args:
            file: `model.onnx`.
            outputs: the outputs that calls return, in their order.

        Raises:
            ExportError: onnxruntime can't load it.
        """
        self._outputs = list(outputs)
        try:
            self._session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's exceptions share no base but this
            raise ExportError(f"onnxruntime {onnxruntime.__version__} can't load {file}: {error}") from error

    def __call__(self, feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """Run it on inputs by name.

        Raises:
            ExportError: it fails.
        """
        try:
            results: list[NDArray[Any]] = self._session.run(self._outputs, feed)
        except Exception as error:
            raise ExportError(f"the exported graph fails on a batch: {error}") from error
        return results
