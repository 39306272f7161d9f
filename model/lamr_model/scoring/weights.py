"""`LineWeights`: a line model and a score fusion, as they lie beside a model's `lamr.json`: arrays without pickles.

The module knows the file; what its numbers do, `line_model` and `fusion` know."""

import dataclasses
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from lamr_base.errors import ModelMismatchError
from lamr_base.files import MIB, read_regular
from lamr_base.python_parser import PYTHON_PARSER
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_model.crf import DecoderWeights
from lamr_model.crf.weights import unreadable
from lamr_model.scoring.fusion import ScoreFusion
from lamr_model.scoring.line_layers import Layer, LineLayers
from lamr_model.scoring.line_model import LineModel
from lamr_model.scoring.line_vectors import WordMatching, WordTable

_Made = TypeVar("_Made")
_MOST_BYTES, _MOST_UNPACKED_BYTES = 64 * MIB, 256 * MIB
_LEVELS = 127
_WORDS, _STRIDES = "words", "strides"
# The beginnings of the arrays' names in the file.
_QUERY, _LINE, _MATCHING, _LAYERS, _DECODER = "query.", "line.", "matching.", "layers.", "decoder."
_FUSION = "reader."


@dataclass(frozen=True, eq=False)
class LineWeights:
    """What scores lines."""

    model: LineModel  # scores the lines of a file by itself
    fusion: ScoreFusion  # scores them with what an encoder has read


def word_table(vectors: NDArray[np.floating[Any]], alone: NDArray[np.floating[Any]]) -> WordTable:
    """Return a table of vectors [V, d], rounded to int8 with a scale for each word."""
    scale = np.maximum(np.abs(vectors).max(axis=1, keepdims=True, initial=0.0), 1e-6) / _LEVELS
    rounded = np.rint(vectors / scale).astype(np.int8)
    return WordTable(rounded, scale.astype(np.float32), alone.astype(np.float32))


def weights_bytes(weights: LineWeights) -> bytes:
    """Return the file that `load_weights` reads; vectors are int8, layers float16."""
    model, half = weights.model, np.float16
    arrays: dict[str, NDArray[Any]] = {
        _WORDS: np.frombuffer("\n".join(model.words).encode(), np.uint8),
        _STRIDES: np.array([layer.stride for layer in model.layers.layers], np.int64),
    }
    for prefix, table in ((_QUERY, model.query), (_LINE, model.line)):
        arrays |= {
            f"{prefix}vectors": table.vectors,
            f"{prefix}scale": table.scale,
            f"{prefix}alone": table.alone.astype(half),
        }
    arrays |= {_MATCHING + name: values.astype(half) for name, values in _fields(model.matching).items()}
    layers = _fields(model.layers)
    del layers["layers"]
    arrays |= {_LAYERS + name: values.astype(half) for name, values in layers.items()}
    for number, layer in enumerate(model.layers.layers):
        parts = _fields(layer)
        del parts["stride"]
        arrays |= {f"{_LAYERS}{number}.{name}": values.astype(half) for name, values in parts.items()}
    arrays |= {_DECODER + name: np.asarray(values) for name, values in _fields(model.decoder).items()}
    arrays |= {_FUSION + name: values for name, values in weights.fusion.to_arrays().items()}
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # packed, they hardly get smaller, and each new process would unpack them
    return stream.getvalue()


def load_weights(path: Path) -> LineWeights:
    """Read what `weights_bytes` wrote. Raises `ModelMismatchError`: the file is missing, or no such file."""
    return _loaded(path, lambda arrays: LineWeights(_line_model(arrays), _fusion(arrays)))


def load_fusion(path: Path) -> ScoreFusion:
    """Read the fusion alone, which knows nothing of the line model's inputs; errors are those of `load_weights`."""
    return _loaded(path, _fusion)


def _loaded(path: Path, made: Callable[[Mapping[str, NDArray[Any]]], _Made]) -> _Made:
    """Return what is made of a file's arrays."""
    try:
        with np.load(io.BytesIO(read_regular(path, _MOST_BYTES)), allow_pickle=False) as data:
            if sum(each.file_size for each in data.zip.infolist()) > _MOST_UNPACKED_BYTES:
                raise ValueError(f"it unpacks to more than {_MOST_UNPACKED_BYTES:,} bytes")
            with PYTHON_PARSER:
                return made({name: data[name] for name in data.files})
    except FileNotFoundError as error:
        raise ModelMismatchError(
            f"{path} is missing, but the model's scoring needs it; export the model again", path=path
        ) from error
    except unreadable() as error:
        raise ModelMismatchError(
            f"{path} can't be read ({error}); export the model again", path=path
        ) from error


def _fusion(arrays: Mapping[str, NDArray[Any]]) -> ScoreFusion:
    own = {name.removeprefix(_FUSION): arrays[name] for name in arrays if name.startswith(_FUSION)}
    return ScoreFusion.from_arrays(own)


def _line_model(arrays: Mapping[str, NDArray[Any]]) -> LineModel:
    def table(prefix: str) -> WordTable:
        vectors = arrays[f"{prefix}vectors"].astype(np.int8, copy=False)
        return WordTable(vectors, *(_single(arrays[prefix + name]) for name in ("scale", "alone")))

    layers = tuple(
        Layer(int(stride), **_read(arrays, f"{_LAYERS}{number}.", Layer, {"stride"}))
        for number, stride in enumerate(arrays[_STRIDES].tolist())
    )
    return LineModel(
        tuple(arrays[_WORDS].astype(np.uint8).tobytes().decode("utf-8").split("\n")),
        table(_QUERY),
        table(_LINE),
        WordMatching(**_read(arrays, _MATCHING, WordMatching)),
        LineLayers(layers=layers, **_read(arrays, _LAYERS, LineLayers, {"layers"})),
        DecoderWeights(**_read(arrays, _DECODER, DecoderWeights)),
    )


def _read(
    arrays: Mapping[str, NDArray[Any]], prefix: str, kind: type, without: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the fields of a data class as float32, by their names in the file."""
    names = {field.name for field in dataclasses.fields(kind)} - set(without)
    return {name: _single(arrays[prefix + name]) for name in names}


def _single(values: NDArray[Any]) -> NDArray[np.float32]:
    return values.astype(np.float32)


def _fields(data: Any) -> dict[str, Any]:
    return {field.name: getattr(data, field.name) for field in dataclasses.fields(data)}
