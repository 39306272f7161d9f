"""One call of `prune`: how long it may take, and what an error of it means.

`Pruner` and `AsyncPruner` share this module, which knows clocks and options; it knows no model and sends nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import get_args

from lamr_contract.choices import OnError
from lamr_contract.errors import InvalidInputError

from lamr_client.deadline import Deadline


@dataclass(frozen=True)
class Call:
    """A call under way.

    Attributes:
        on_error: whether an error is raised or gives the text as it came.
        deadline: when the call must end.
        wanted: when the caller wants an answer, by then or earlier.
        begin: `time.perf_counter()` when the call began.
    """

    on_error: OnError
    deadline: Deadline
    wanted: Deadline
    begin: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True)
class CallDefaults:
    """What a pruner does in calls that don't say otherwise.

    Attributes:
        timeout: seconds; infinity for no end.
        on_error: see `Call`.

    Raises:
        InvalidInputError: the timeout isn't more than 0, or `on_error` is another word.
    """

    timeout: float
    on_error: OnError

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise InvalidInputError(
                f"timeout must be more than 0 seconds, or math.inf for no end, not {self.timeout!r}",
                argument="timeout",
            )
        if self.on_error not in get_args(OnError):
            raise InvalidInputError(
                f"on_error must be 'raise' or 'passthrough', not {self.on_error!r}", argument="on_error"
            )

    def begin(self, timeout: float | None, on_error: OnError | None, within: float | None = None) -> Call:
        """Start a call's clock.

        Args:
            timeout, on_error: what the call says; None takes the defaults.
            within: seconds until an answer is wanted; None for the timeout's.

        Raises:
            InvalidInputError: see the class.
        """
        own = CallDefaults(self.timeout if timeout is None else timeout, on_error or self.on_error)
        deadline = Deadline(own.timeout)
        return Call(own.on_error, deadline, deadline.earlier(most=within))
