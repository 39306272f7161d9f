"""The bodies of requests and answers: lamr's own, SWE-Pruner's service's, Cohere's and TEI's. It does no work."""

from __future__ import annotations

from typing import Any, Literal

from lamr_base.choices import TokenizerName
from lamr_postprocess import LEAST_CUT
from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_DOCUMENTS = 1000
MOST_KEPT = 10_000
_MOST_FIELDS = 100


class Body(BaseModel):
    """A request's body; one of too many fields is refused whole, since each unknown one is an error of its own."""

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > _MOST_FIELDS:
            raise ValueError(f"{len(value):,} fields; no body has more than {_MOST_FIELDS}")
        return value


class PruneBody(Body):
    """`POST /v1/prune`: the options of `Pruner.prune` by their names."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(description="What is looked for: a question, an intention, or words.")
    code: str = Field(description="One file.")
    task: str = Field("", description="What the query serves, such as an issue's text; of any length.")
    history: str = Field(
        "", description="What the session said before the query, such as the agent's earlier words."
    )
    path: str | None = Field(None, description="The file's path, which tells its language.")
    language: str | None = Field(None, description="The language, instead of the path.")
    threshold: float | None = Field(None, ge=0, le=1, description="How likely a line must be to answer.")
    ratio: float | None = Field(None, ge=1, description="A budget: 4 keeps about a quarter.")
    max_tokens: int | None = Field(None, ge=1, description="Never more tokens than this, by `tokenizer`.")
    tokenizer: TokenizerName | None = Field(None, description="What counts tokens; o200k by default.")
    keep: list[int | tuple[int, int] | str] = Field(
        default_factory=list,
        max_length=MOST_KEPT,
        description="Lines to keep: numbers, [first, last] or regular expressions.",
    )
    line_numbers: bool = Field(False, description="Write original line numbers before the lines.")
    min_tokens: int = Field(0, ge=0, description="Code with fewer tokens passes untouched.")
    repair: bool = Field(True, description="Add the lines that the selection needs.")
    markers: Literal["comment", "named", "swe-pruner"] = Field("comment", description="How cuts are marked.")
    min_cut: int = Field(
        LEAST_CUT, ge=0, description="Characters that a cut between kept lines hides at least."
    )
    excerpts: bool = Field(
        False,
        description="Of minified code, which has no lines to choose from, show the parts around matches.",
    )
    effort: Literal["auto", "instant", "full"] = Field(
        "auto",
        description="How much the encoder reads: the chunks that the line model leaves open, nothing, or every chunk.",
    )
    within: float | None = Field(
        None, gt=0, description="Seconds until an answer is wanted, with what was read by then."
    )
    degrade: bool = Field(True, description="Let the line model answer where the server behind fails.")

    on_error: Literal["raise", "passthrough"] = Field(
        "raise", description="passthrough: trouble gives the code as it came, with the error as `reason`."
    )
    keep_original: bool = Field(
        False,
        description="Keep the code for `GET /v1/show`; the answer gets `key` and, for a cut text, `note`.",
    )

    def options(self) -> dict[str, Any]:
        """What `AsyncPruner.prune` takes."""
        return self.model_dump(exclude={"keep_original"})


class SwePrunerBody(Body):
    """`POST /prune` as SWE-Pruner's service takes it; fields that it doesn't know are let pass, as there."""

    query: str
    code: str
    threshold: float | None = Field(None, ge=0, le=1, description="Default: the model's own.")
    always_keep_first_frags: bool = Field(False, description="Keep the first line.")
    chunk_overlap_tokens: int = Field(50, description="Taken and not used: the model has its own chunks.")


class SwePrunerAnswer(BaseModel):
    """What SWE-Pruner's service answers.

    `token_scores` has one entry a line, its text with `Ċ` for the line's end and its score: that is what thresholds are
    compared with here.
    """

    score: float = 0.0
    pruned_code: str
    token_scores: list[list[str | float]] = []
    kept_frags: list[int]
    origin_token_cnt: int = 0
    left_token_cnt: int = 0
    model_input_token_cnt: int = 0
    error_msg: str | None = None


class CohereDocument(BaseModel):
    """A document as an object."""

    text: str


class CohereBody(Body):
    """`POST /v1/rerank` as Cohere's rerank takes it."""

    query: str
    documents: list[str | CohereDocument] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    top_n: int | None = Field(None, ge=1)
    return_documents: bool = False
    model: str | None = Field(None, description="Taken and not used: there is one model.")


class TeiBody(Body):
    """`POST /rerank` as text-embeddings-inference takes it."""

    query: str
    texts: list[str] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    raw_scores: Literal[False] = Field(False, description="Scores are probabilities here.")
    return_text: bool = False
