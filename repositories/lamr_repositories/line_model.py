"""What the line model says of the best files: it reads a file's words in some hundredths of a second, and no encoder.

The encoder isn't asked for packs: what it reads finds no more whole answers there (docs/lab/repositories.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lamr_contract.arrays import Float64Array, logit
from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import InvalidInputError
from lamr_contract.query_truncation import TruncatedQuery
from lamr_contract.scoring.query_document import NO_TOKENS, QueryDocument
from lamr_contract.scoring.scorer import DocumentScorer, Scorer
from lamr_postprocess.layout import line_layout

MOST_FILES = 16
"""The best files by words, which the model reads."""
_MOST_CHARACTERS = 1 << 18  # of a file; a longer one keeps the scores of its words


@dataclass(frozen=True, eq=False)
class LineModel:
    """A line model and one question.

    Attributes:
        scorer: the model.
        encoder: its prompt.
        query, task: what is looked for, and what for.
    """

    scorer: Scorer
    encoder: PromptEncoder
    query: str
    task: str

    @property
    def reads(self) -> bool:
        """Whether there is such a model, and it knows the question's language."""
        return self.scorer.instant and self.scorer.reads(self.query)

    def read_query(self, files: Sequence[tuple[str, str]]) -> TruncatedQuery:
        """Return what is read of the question by the words of some files: of a long one the rarest sentences.

        All files share one reading, since they compete.
        """
        begun = "\n".join(text for _, text in files)[:_MOST_CHARACTERS]
        return self.encoder.read_query(self.query, self.task, begun, line_layout(begun))

    def log_odds(
        self, files: Sequence[tuple[str, str]], reading: TruncatedQuery
    ) -> list[Float64Array | None]:
        """Return the log-odds [L] that each line of some files answers; None for a file that can't be read.

        Args:
            files: path and text of each.
            reading: what `read_query` gave.
        """
        return [self._log_odds(*each, reading) for each in files]

    def _log_odds(self, path: str, text: str, reading: TruncatedQuery) -> Float64Array | None:
        if len(text) > _MOST_CHARACTERS:
            return None
        try:
            asked = QueryDocument.of(
                self.encoder,
                self.query,
                text,
                task=self.task,
                path=path,
                reading=reading,
                tokens=NO_TOKENS,
            )
        except InvalidInputError:  # the question has no word that the model knows
            return None
        scores = DocumentScorer(self.scorer, asked).finish().scores
        return np.asarray(logit(scores.astype(np.float64)), np.float64)
