"""What an export wrote and how it was verified: `lamr_encoder/1/report.json`, and a summary for people."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from lamr_export.verify import Verification


@dataclass(frozen=True)
class ExportReport:
    """One exported model repository."""

    name: str  # which model it is
    version: str
    fingerprint: str
    precision: str  # the precision of the encoder's products, one of `lamr_serving.engines.PRECISIONS`
    parameters: int  # the number of the PyTorch model's parameters
    opset: int  # the ONNX file's versions
    ir_version: int
    oldest_onnxruntime: str
    oldest_container: str
    torch: str  # the versions that verified it
    onnxruntime: str
    max_batch_size: int  # the most requests in one execution
    files: dict[str, int]  # the size of each file in bytes, by its path in the repository
    verification: Verification  # how the exported encoder differs from the PyTorch model

    @property
    def total_bytes(self) -> int:
        """The size of all files but the report."""
        return sum(self.files.values())

    def to_json(self) -> str:
        """The text of `report.json`."""
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


def with_files(text: str, files: dict[str, int]) -> str:
    """Return a report's text for a repository whose other files have been written anew."""
    return (
        json.dumps({**json.loads(text), "files": files, "total_bytes": sum(files.values())}, indent=2) + "\n"
    )
