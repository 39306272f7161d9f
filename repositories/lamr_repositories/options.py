"""What a caller may ask of a pack, checked."""

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from lamr_base.errors import InvalidInputError
from lamr_base.records import dataclass

from lamr_repositories.formats import FORMATS
from lamr_repositories.walk import WalkOptions

OnProgress = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and how much there is."""


ORDERS = ("score", "path")


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """What a caller may ask of a pack.

    Attributes:
        max_tokens: the most tokens of the finished text, everything in it included.
        revision: a branch, tag or commit to pack; None for the work tree, or for a URL's default branch.
        task: what the query serves, such as an issue's text; may be empty. Files are ranked by its words as well, and
            the line model reads it.
        names: the files to pack, below the root; None for all.
        walk: which files count.
        form: a key of `FORMATS`.
        order: how files stand in the pack: by `score`, that of the best lines first, or by `path`.
        line_numbers: whether lines carry their original numbers.
        tokenizer: what counts tokens: a name or a file (`lamr_model.counters.token_counter`); None for its default.

    Raises:
        InvalidInputError: a value can't be used."""

    max_tokens: int = 32_000
    revision: str | None = None
    task: str = ""
    names: tuple[str, ...] | None = None
    walk: WalkOptions = field(default_factory=WalkOptions)
    form: str = next(iter(FORMATS))
    order: str = ORDERS[0]
    line_numbers: bool = False
    tokenizer: str | Path | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("form", self.form, FORMATS),
            ("order", self.order, ORDERS),
        ):
            if value not in known:
                raise InvalidInputError(
                    f"{name} must be one of {', '.join(known)}, not {value!r}", argument=name
                )
        if self.max_tokens < 1:
            raise InvalidInputError("max_tokens must be at least 1", argument="max_tokens")
        if self.revision is not None and self.names is not None:
            raise InvalidInputError("give a revision or a list of files, not both", argument="revision")
