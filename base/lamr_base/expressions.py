"""`expression`: `re.compile`, which compiles when the expression is first used.

lamr has more than a hundred expressions, and a call uses a third of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

__all__ = ["expression"]


class _Expression:
    """An expression in the place of its `re.Pattern`, whose methods it takes over one by one."""

    def __init__(self, pattern: Any, flags: int = 0) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self.pattern, self._flags), name)  # `re` remembers what it has compiled
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    from re import compile as expression
else:
    expression = _Expression
