"""What an export made and how it was verified: `lamr_encoder/1/report.json`, and the lines printed for people."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from lamr_export.verify import Verification


@dataclass(frozen=True)
class ExportReport:
    """One exported model repository.

    Attributes:
        name, version, fingerprint: of the model.
        precision: `fp32` or `int8`.
        parameters: of the PyTorch model.
        opset, ir_version: of the ONNX file.
        oldest_onnxruntime, oldest_container: that can read it (release numbers; containers are Triton's).
        torch, onnxruntime: versions that it was verified with.
        max_batch_size: requests in one execution.
        files: bytes of each file, by path in the repository; this report is not among them.
        verification: see its class.
    """

    name: str
    version: str
    fingerprint: str
    precision: str
    parameters: int
    opset: int
    ir_version: int
    oldest_onnxruntime: str
    oldest_container: str
    torch: str
    onnxruntime: str
    max_batch_size: int
    files: dict[str, int]
    verification: Verification

    @property
    def total_bytes(self) -> int:
        """Of all files but the report."""
        return sum(self.files.values())

    def to_json(self) -> str:
        return json.dumps({**dataclasses.asdict(self), "total_bytes": self.total_bytes}, indent=2) + "\n"

    def summary(self) -> str:
        """A few lines for a terminal."""
        checked = self.verification
        return "\n".join(
            (
                f"{self.name} {self.version} ({self.precision}), fingerprint {self.fingerprint}",
                f"{self.total_bytes / 1e6:.1f} MB, {self.parameters / 1e6:.1f} M parameters, ONNX opset {self.opset}: "
                f"onnxruntime {self.oldest_onnxruntime} or later, Triton {self.oldest_container} or later",
                f"against PyTorch on {checked.tokens:,} tokens: fused features differ by at most "
                f"{checked.fused_error:.1e} ({checked.fused_relative:.1e} of their size on average), "
                f"relevance by {checked.relevance_error:.1e}, packed from one by one by {checked.packed_error:.1e}",
                f"keep decisions changed: {checked.changed_percent:.2f} % of {checked.decisions:,} "
                f"(kept are {checked.kept_percent:.1f} %); in or out of the likeliest quarter: "
                f"{checked.moved_percent:.2f} %; keep probability by {checked.keep_prob_mean_error:.1e} on average",
            )
        )
