"""Answers of a model that anybody can check: a token is kept where its id says so."""

import numpy as np
from lamr_model.model_io import ChunkRequest, ChunkResult


def answer(request: ChunkRequest) -> ChunkResult:
    """Scores by token id, shifted by the chunk's length so that overlapping chunks disagree."""
    first, last = request.document_span
    code = request.input_ids[first:last].astype(np.int64)
    mixed = (code * 7919 + len(request.input_ids) * 31) % 101
    keep_prob = (mixed / 100).astype(np.float32)
    rubric_prob = np.stack([keep_prob, 1 - keep_prob], 1) if request.want_rubrics else None
    return ChunkResult(
        keep=(mixed > 50).astype(np.uint8),
        keep_prob=keep_prob,
        rubric_prob=rubric_prob,
        gate=np.full_like(rubric_prob, 0.5) if request.want_rubrics else None,
        relevance=float(int(request.input_ids.sum()) % 97) / 97,
    )
