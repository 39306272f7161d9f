"""What a caller may ask of a pack, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lamr_client.effort import check_effort
from lamr_contract.choices import EffortName
from lamr_contract.errors import InvalidInputError

from lamr_repositories.formats import FORMATS
from lamr_repositories.line_scores import RANKERS
from lamr_repositories.walk import WalkOptions

ORDERS = ("score", "path")

MOST_CHUNKS = 256
"""Chunks of the best pieces that the encoder reads, unless a caller says otherwise: half a minute of two CPU cores
without VNNI."""
UNDECIDED_CHUNKS = 24
"""Chunks that it reads where it takes those first about which it can change the most (docs/lab/repositories.md)."""


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """What a caller may ask of a pack.

    Attributes:
        max_tokens: the most tokens of the finished text, everything in it included.
        revision: a branch, tag or commit to pack; None for the work tree, or for a URL's default branch.
        task: what the query serves, such as an issue's text; may be empty. Files are ranked by its words as well, and
            the model reads the parts of it that say most about the best pieces; a causal language model is asked the
            query alone.
        names: the files to pack, below the root; None for all.
        walk: which files count.
        ranker: a key of `RANKERS`.
        form: a key of `FORMATS`.
        order: how files stand in the pack: by `score`, that of the best lines first, or by `path`.
        line_numbers: whether lines carry their original numbers.
        tokenizer: what counts tokens: a name or a file (`lamr_contract.counters.token_counter`); None for its default.
        most_chunks: how many chunks the encoder reads at the most; default `MOST_CHUNKS`, or `UNDECIDED_CHUNKS`.
        effort: how much of them it reads. `instant`: none, and no encoder is loaded and no server asked. `full`: all
            of them, those of the best pieces. `auto`: what there is time for. The ranker `sum` then reads the pieces
            that the words leave undecided, the ones by which the budget just lasts or just doesn't. Answers that are
            kept cost no time.
        within: seconds until the pack is wanted, in which the encoder reads what it can; listing and ranking by words
            are done however long they take. Default: in `auto` `READING_SECONDS` for the encoder's reading alone.
        degrade: whether a pack is made without the encoder's answers where they can't be had
            (`lamr_client.effort.DEGRADES`); the result's `effort` and `notes` say so. False raises the error.

    Raises:
        InvalidInputError: a value can't be used.
    """

    max_tokens: int = 32_000
    revision: str | None = None
    task: str = ""
    names: tuple[str, ...] | None = None
    walk: WalkOptions = field(default_factory=WalkOptions)
    ranker: str = next(iter(RANKERS))
    form: str = next(iter(FORMATS))
    order: str = ORDERS[0]
    line_numbers: bool = False
    tokenizer: str | Path | None = None
    most_chunks: int | None = None
    effort: EffortName = "auto"
    within: float | None = None
    degrade: bool = True

    @property
    def reads_undecided(self) -> bool:
        """Whether the encoder reads what words leave undecided, and not what they find best."""
        return self.effort == "auto" and self.ranker == next(iter(RANKERS))

    @property
    def chunks(self) -> int:
        """How many chunks the encoder reads at the most."""
        default = UNDECIDED_CHUNKS if self.reads_undecided else MOST_CHUNKS
        return default if self.most_chunks is None else self.most_chunks

    def __post_init__(self) -> None:
        for name, value, known in (
            ("ranker", self.ranker, RANKERS),
            ("form", self.form, FORMATS),
            ("order", self.order, ORDERS),
        ):
            if value not in known:
                raise InvalidInputError(
                    f"{name} must be one of {', '.join(known)}, not {value!r}", argument=name
                )
        for name, least in (("max_tokens", 1), ("most_chunks", 0)):
            if (value := getattr(self, name)) is not None and value < least:
                raise InvalidInputError(f"{name} must be at least {least}", argument=name)
        check_effort(self.effort, self.within)
        if self.revision is not None and self.names is not None:
            raise InvalidInputError("give a revision or a list of files, not both", argument="revision")
