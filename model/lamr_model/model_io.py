"""What a model is asked about one chunk and what it answers, whatever way leads to it."""

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.records import dataclass
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ChunkRequest:
    """One model input.

    Attributes:
        input_ids: int64 [t], t at least 1.
        document_span: first and one-past-last code token within `input_ids`; at least one token.
        want_rubrics: whether `rubric_prob` and `gate` are asked for, too.

    Raises:
        InvalidInputError: there is no code token. Servers with a C++ encoder don't check that, and an empty sequence
            would spoil the others of its batch."""

    input_ids: NDArray[np.int64]
    document_span: tuple[int, int]
    want_rubrics: bool = False

    def __post_init__(self) -> None:
        first, last = self.document_span
        if not 0 <= first < last <= len(self.input_ids):
            raise InvalidInputError(
                f"document_span [{first}, {last}) must be a non-empty part of {len(self.input_ids)} tokens",
                argument="document_span",
            )


@dataclass(frozen=True, eq=False)
class ChunkResult:
    """What a model says about the m code tokens of one chunk.

    Attributes:
        keep: uint8 [m], Viterbi's labels under the fused CRF.
        keep_prob: float32 [m], the fused CRF's marginals.
        rubric_prob: float32 [m, K], the marginals of each of K rubrics; None unless asked for.
        gate: float32 [m, K], the weight of each rubric; None unless asked for.
        relevance: P("yes") for the whole chunk."""

    keep: NDArray[np.uint8]
    keep_prob: NDArray[np.float32]
    rubric_prob: NDArray[np.float32] | None
    gate: NDArray[np.float32] | None
    relevance: float
