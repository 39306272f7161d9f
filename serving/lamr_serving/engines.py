"""Chooses the execution provider and precision for a machine, and gives the reasons.

`lamr status` shows the choice for this machine, and `lamr export --precision` writes a row into a model's
`config.pbtxt`, in Triton's terms."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lamr_base.cpus import cpu_features
from lamr_model.names import PRECISION_PARAMETER

WIDE = 1024  # hidden size (Qwen3-0.6B's) from which products outweigh what stands around them


@dataclass(frozen=True)
class Engine:
    """One way to run an encoder on a CPU."""

    provider: str  # onnxruntime's, as `execution_accelerators` names it; "cpu" for the default one
    precision: str
    needs: tuple[frozenset[str], ...]  # sets of processor features as /proc/cpuinfo names them; one is enough
    reason: str  # why it is the best there, and where the figure comes from
    least_width: int = 0  # the encoder's hidden size from which this holds
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.precision} on {self.provider}"

    def suits(self, features: Collection[str], width: int = 0) -> bool:
        """Whether the processor has all features of one of the sets, and the encoder is wide enough."""
        return width >= self.least_width and any(needed <= set(features) for needed in self.needs)

    @property
    def accelerators(self) -> dict[str, dict[str, dict[str, str]]]:
        """The engine as `OnnxModelConfig.accelerators`; empty for the default provider, which has no name in Triton."""
        return {} if self.provider == "cpu" else {"CPU": {self.provider: dict(self.options)}}

    def pbtxt(self) -> str:
        provider = "onnxruntime's own CPU provider" if self.provider == "cpu" else self.provider
        text = f"# {self.precision} on {provider}: {self.reason}\n"
        for name, options in self.accelerators.get("CPU", {}).items():
            entries = "".join(
                f"\n  parameters {{ key: {json.dumps(key)} value: {json.dumps(value)} }}"
                for key, value in options.items()
            )
            text += (
                "optimization { execution_accelerators { cpu_execution_accelerator [ {\n"
                f"  name: {json.dumps(name)}{entries}\n"
                "} ] } }\n"
            )
        return f'{text}parameters {{ key: "{PRECISION_PARAMETER}" value {{ string_value: "{self.precision}" }} }}'


def _any(*sets: Iterable[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(one) for one in sets)


_OPENVINO_BF16 = (("load_config", json.dumps({"CPU": {"INFERENCE_PRECISION_HINT": "bf16"}})),)

# The best engine comes first; the last one suits every machine and encoder.
ENGINES = (
    Engine(
        "openvino",
        "bf16",
        _any(["amx_bf16"]),
        "bf16 tiles: a 0.6B backbone takes a quarter of fp32's time (docs/lab/performance.md)",
        options=_OPENVINO_BF16,
    ),
    # Without tiles bf16 suits wide encoders only: on narrow ones OpenVINO took 1.2 to 1.5 times as long as int8.
    Engine(
        "openvino",
        "bf16",
        _any(["avx512_bf16"]),
        "bf16 products: on a 0.6B backbone as fast as int8 with 512 tokens and a quarter less time with 2,048, without "
        "its rounding (benchmarks/large_encoder.py)",
        least_width=WIDE,
        options=_OPENVINO_BF16,
    ),
    Engine(
        "cpu",
        "int8",
        _any(["avx512_vnni"], ["avx_vnni"], ["asimddp"]),
        "integer dot products: a small encoder runs at 2.1 to 2.5 times fp32 (docs/lab/performance.md)",
    ),
    Engine(
        "cpu",
        "fp32",
        _any([]),
        "runs everywhere; without integer dot products int8 gains little and costs accuracy",
    ),
)
PRECISIONS = tuple(dict.fromkeys(engine.precision for engine in reversed(ENGINES)))


def choose(features: Collection[str] | None = None, width: int = 0) -> Engine:
    """The best engine for these processor features (this machine's if None) and an encoder of this hidden size."""
    available = cpu_features() if features is None else features
    return next(engine for engine in ENGINES if engine.suits(available, width))


def engine_for(precision: str) -> Engine:
    return {engine.precision: engine for engine in reversed(ENGINES)}[precision]
