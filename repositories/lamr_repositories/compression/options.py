"""What a caller may ask of LongCodeZip's two stages, checked."""

from lamr_base.errors import InvalidInputError
from lamr_base.expressions import expression
from lamr_base.records import dataclass

_BUDGET = expression(r"([-+*/])\s*(\d+(?:\.\d+)?)")


@dataclass(frozen=True, kw_only=True)
class CompressionOptions:
    """The published options that shares and budgets depend on, with the published defaults.

    Attributes:
        rate: the share of tokens that the functions aim at, above 0 and up to 1.
        target_tokens: the tokens that the functions aim at, in place of the rate.
        context_budget: what is done to that number before functions are taken: `+100`, `*1.2`.
        rank_only: whether functions are taken whole, without the fine stage.
        fine_ratio: the share of the taken functions' lines that the fine stage aims at; None takes the rate.
        beta: how far a function's share depends on its rank: 0 gives all the same share, 1 the most different ones.
        min_lines: functions with fewer lines, or fewer sections, are kept whole.

    Raises:
        InvalidInputError: a value can't be used."""

    rate: float = 0.5
    target_tokens: int | None = None
    context_budget: str = "+100"
    rank_only: bool = False
    fine_ratio: float | None = None
    beta: float = 0.5
    min_lines: int = 5

    def __post_init__(self) -> None:
        for name, share in (("rate", self.rate), ("fine_ratio", self.fine_ratio)):
            if share is not None and not 0 < share <= 1:
                raise InvalidInputError(f"{name} must be above 0 and at most 1, not {share}", argument=name)
        if not 0 <= self.beta <= 1:
            raise InvalidInputError(f"beta must be from 0 to 1, not {self.beta}", argument="beta")
        if self.target_tokens is not None and self.target_tokens < 1:
            raise InvalidInputError("target_tokens must be at least 1", argument="target_tokens")
        if not _BUDGET.fullmatch(self.context_budget):
            raise InvalidInputError(
                f"context_budget must be an operator and a number such as +100 or *1.2, not {self.context_budget!r}",
                argument="context_budget",
            )

    def widened(self, tokens: float) -> float:
        """Return a number of tokens after `context_budget`."""
        match = _BUDGET.fullmatch(self.context_budget)
        assert match is not None
        number = float(match[2])
        if match[1] == "/":
            return tokens / number if number else tokens
        return {"+": tokens + number, "-": tokens - number, "*": tokens * number}[match[1]]
