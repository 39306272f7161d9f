#!/usr/bin/env python3
"""A pool of connections.

It gives one at a time.
# no comment
The rest waits.
"""

import contextlib
import sys
from dataclasses import dataclass, field

HELP = """\
usage: pool SIZE
# no comment
"""

LIMITS = {
    "small": 4,
    "large": 64,
}


class PoolError(Exception):
    """Nothing is free."""


@dataclass
class Pool:
    """Connections that are free."""

    limit: int = 4
    free: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether nothing is free."""
        return not self.free

    @contextlib.contextmanager
    def connection(self, timeout: float = 1.0):
        """Lend a connection."""
        if self.empty:
            raise PoolError(
                f"none of {self.limit} is free "
                f"after {timeout} s"
            )
        taken = self.free.pop()
        try:
            yield taken
        except OSError:
            taken = ""
            raise
        else:
            self.free.append(taken)
        finally:
            print("done", file=sys.stderr)


def size_of(name: str) -> int:
    """Return a size by its name."""
    match name:
        case "small" | "large":
            return LIMITS[name]
        case _:
            total = 1 + \
                2 + \
                3
            return total


if __name__ == "__main__":
    print(HELP, size_of("small"))
