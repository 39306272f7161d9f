"""Which execution provider and precision suit a machine: the one place where that is decided, reasons beside it.

Knows processor features and a table; it opens no session. A model repository asks for a provider in its
`config.pbtxt`, in Triton's own terms; this table says which one to ask for (`lamr status` shows it).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lamr_serving.cpus import cpu_features


@dataclass(frozen=True)
class Engine:
    """One way to run an encoder on a CPU.

    Attributes:
        provider: onnxruntime's, as `execution_accelerators` names it; "cpu" for its own.
        precision: of the products.
        needs: processor features, as /proc/cpuinfo names them; any of these sets.
        package: that brings the provider.
        reason: why it is the best there, and where the figure comes from.
    """

    provider: str
    precision: str
    needs: tuple[frozenset[str], ...]
    package: str
    reason: str

    def suits(self, features: Collection[str]) -> bool:
        """Whether the processor has all features of one of the sets."""
        return any(needed <= set(features) for needed in self.needs)


def _any(*sets: Iterable[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(one) for one in sets)


# Best first; the last one suits every machine.
ENGINES = (
    Engine(
        "openvino",
        "bf16",
        _any(["amx_bf16"]),
        "onnxruntime-openvino",
        "bf16 tiles: a 0.6B backbone takes a quarter of fp32's time (docs/performance.md); export fp32 and name "
        "openvino in its config.pbtxt",
    ),
    # AVX512-bf16 without tiles has no row of its own: OpenVINO's bf16 took 1.2 to 1.5 times as long as int8 there.
    Engine(
        "cpu",
        "int8",
        _any(["avx512_vnni"], ["avx_vnni"], ["asimddp"]),
        "onnxruntime",
        "integer dot products: a small encoder runs at 2.1 to 2.5 times fp32 (docs/performance.md)",
    ),
    Engine(
        "cpu",
        "fp32",
        _any([]),
        "onnxruntime",
        "no integer dot products: int8 would gain little and cost accuracy",
    ),
)


def choose(features: Collection[str] | None = None) -> Engine:
    """The best engine for these processor features; this machine's if None."""
    found = cpu_features() if features is None else features
    return next(engine for engine in ENGINES if engine.suits(found))
