"""The decoder's weights and their file, `decoder.npz`.

Knows names, shapes and the file format (docs/architecture.md, "Decoder weights"); what is computed with the
arrays is `lamr_model.crf.decoder`."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
from lamr_base.errors import ModelMismatchError
from lamr_base.python_parser import PYTHON_PARSER
from lamr_base.records import dataclass

from lamr_model.crf.chain import LinearChainCrf
from lamr_model.crf.layers import Array

_REMEDY = "write it again with `lamr export`"

MOST_BYTES = 1 << 30
"""Of all arrays together, unpacked; those of the widest encoders have a tenth of that."""


def unreadable() -> tuple[type[Exception], ...]:
    """Return what numpy and zipfile raise for files that are truncated, damaged, of another format, or pickled."""
    import zipfile  # noqa: PLC0415  # numpy, too, loads it with the first file
    import zlib  # noqa: PLC0415

    bad = (zipfile.BadZipFile, zlib.error)
    return (*bad, OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, RuntimeError)


class DecoderWeightsError(ModelMismatchError, ValueError):
    """A decoder's weights are missing, unreadable or don't fit together; the message names the array."""


@dataclass(frozen=True)
class DecoderWeights:
    """Weights of the emission heads, the gate and the CRFs (paper, section 3.2), float32.

    D is the fused size, H the hidden size of the heads, K the number of rubrics. In `decoder.npz` the part up to
    the module is set off with a dot: `norm_weight` is `norm.weight`.

    Attributes:
        norm_weight, norm_bias: [D], LayerNorm.
        hidden_weight, hidden_bias: [H, D] and [H].
        emission_weight, emission_bias: [2K, H] and [2K]; rubric k's prune and keep are rows 2k and 2k+1.
        gate_weight, gate_bias: [K, D] and [K]; applied to the fused states themselves, not to their norm.
        rubric_crf_transitions, rubric_crf_start, rubric_crf_end: [K, 2, 2], [K, 2], [K, 2].
        fused_crf_transitions, fused_crf_start, fused_crf_end: [2, 2], [2], [2].

    Raises:
        DecoderWeightsError: shapes that don't fit together, another dtype than a float, NaN or infinity."""

    norm_weight: Array
    norm_bias: Array
    hidden_weight: Array
    hidden_bias: Array
    emission_weight: Array
    emission_bias: Array
    gate_weight: Array
    gate_bias: Array
    rubric_crf_transitions: Array
    rubric_crf_start: Array
    rubric_crf_end: Array
    fused_crf_transitions: Array
    fused_crf_start: Array
    fused_crf_end: Array

    def __post_init__(self) -> None:
        shapes = _shapes(*self._sizes())
        for field, name in _NAMES.items():
            values = getattr(self, field)
            if values.shape != shapes[name]:
                raise DecoderWeightsError(
                    f"{name} has shape {list(values.shape)} where {list(shapes[name])} fits the other arrays; {_REMEDY}"
                )
            if not np.issubdtype(values.dtype, np.floating):
                raise DecoderWeightsError(f"{name} has dtype {values.dtype}, not a float; {_REMEDY}")
            if not np.isfinite(values).all():
                raise DecoderWeightsError(
                    f"{name} holds NaN or infinity; check the checkpoint, then {_REMEDY}"
                )
            object.__setattr__(self, field, values.astype(np.float32))
        try:
            _ = self.fused_crf, self.rubric_crfs
        except ValueError as error:
            raise DecoderWeightsError(str(error)) from error

    @property
    def rubrics(self) -> int:
        """K."""
        return int(self.gate_bias.shape[0])

    @property
    def fused_size(self) -> int:
        """D."""
        return int(self.norm_weight.shape[0])

    @property
    def fused_crf(self) -> LinearChainCrf:
        """The CRF over gated emissions, which decides."""
        return LinearChainCrf(self.fused_crf_transitions, self.fused_crf_start, self.fused_crf_end)

    @property
    def rubric_crfs(self) -> tuple[LinearChainCrf, ...]:
        """Each rubric's own CRF, K of them."""
        stacked = (self.rubric_crf_transitions, self.rubric_crf_start, self.rubric_crf_end)
        return tuple(LinearChainCrf(*(part[k] for part in stacked)) for k in range(self.rubrics))

    @property
    def chained(self) -> bool:
        """Whether a token's decision depends on its neighbours': the fused CRF has a score that isn't 0."""
        scores = (self.fused_crf_transitions, self.fused_crf_start, self.fused_crf_end)
        return any(each.any() for each in scores)

    def without_chain(self) -> DecoderWeights:
        """The same weights with a fused CRF of zeros, under which `keep_prob` is sigmoid(`Decoded.margin`)."""
        names = ("fused_crf_transitions", "fused_crf_start", "fused_crf_end")
        return dataclasses.replace(self, **{name: 0 * getattr(self, name) for name in names})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DecoderWeights:
        """Read `decoder.npz` into numpy arrays; pickled content is refused. Raises `DecoderWeightsError`: missing,
        unreadable, truncated, arrays missing or unknown, or as the class says."""
        arrays = _read(Path(path))
        if missing := sorted(_NAMES.values() - arrays.keys()):
            raise DecoderWeightsError(f"{path}: {', '.join(missing)} missing; {_REMEDY}", path=path)
        if unknown := sorted(arrays.keys() - _NAMES.values()):
            raise DecoderWeightsError(
                f"{path}: unknown array {', '.join(unknown)}; {_REMEDY} of this version", path=path
            )
        try:
            return cls(**{field: arrays[name] for field, name in _NAMES.items()})
        except DecoderWeightsError as error:
            raise DecoderWeightsError(f"{path}: {error}", path=path) from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `decoder.npz`; an existing file is replaced whole or not at all. Raises `OSError`: the folder can't
        be written."""
        arrays = {name: getattr(self, field) for field, name in _NAMES.items()}
        from lamr_base.private_files import replaced  # noqa: PLC0415  # a process that only reads needs none of it

        with replaced(Path(path)) as part, part.open("wb") as file:
            np.savez_compressed(file, **arrays)

    def _sizes(self) -> tuple[int, int, int]:
        """D, H and K, from the arrays that define them."""
        sizes = []
        for name in ("norm_weight", "hidden_bias", "gate_bias"):
            values = getattr(self, name)
            if not isinstance(values, np.ndarray) or values.ndim != 1 or values.shape[0] < 1:
                raise DecoderWeightsError(f"{_NAMES[name]} must be an array of rank 1, not empty; {_REMEDY}")
            sizes.append(int(values.shape[0]))
        return sizes[0], sizes[1], sizes[2]


def _file_name(field: str) -> str:
    module, _, parameter = field.rpartition("_")
    return f"{module}.{parameter}"


_NAMES = {field.name: _file_name(field.name) for field in dataclasses.fields(DecoderWeights)}


def _shapes(D: int, H: int, K: int) -> dict[str, tuple[int, ...]]:
    return {
        "norm.weight": (D,),
        "norm.bias": (D,),
        "hidden.weight": (H, D),
        "hidden.bias": (H,),
        "emission.weight": (2 * K, H),
        "emission.bias": (2 * K,),
        "gate.weight": (K, D),
        "gate.bias": (K,),
        "rubric_crf.transitions": (K, 2, 2),
        "rubric_crf.start": (K, 2),
        "rubric_crf.end": (K, 2),
        "fused_crf.transitions": (2, 2),
        "fused_crf.start": (2,),
        "fused_crf.end": (2,),
    }


def _read(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """All arrays of a `.npz`."""
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for a writer
            raise ValueError("it is not a regular file")
        with path.open("rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds one bare array")
            if (size := sum(each.file_size for each in file.zip.infolist())) > MOST_BYTES:
                raise ValueError(f"it unpacks to {size:,} bytes, more than the {MOST_BYTES:,} that are read")
            with PYTHON_PARSER:
                return {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise DecoderWeightsError(f"{path} is missing; {_REMEDY}", path=path) from error
    except unreadable() as error:
        raise DecoderWeightsError(f"{path}: not a readable .npz ({error}); {_REMEDY}", path=path) from error
