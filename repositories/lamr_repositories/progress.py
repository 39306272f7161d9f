"""How far long work has come, as whoever waits for it is told."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and how much there is."""
