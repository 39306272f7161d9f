"""Makes a tool's result shorter without taking out anything that bears meaning, and says what it left out.

`rows` are a text's lines on their way through `steps`, each of which takes out one kind of thing; `shorten` there runs
those that fit a text. `earlier` knows what a session was shown already. Whoever calls keeps the original, so that
`lamr show` gives it back to the byte.
"""

from lamr_agents.lossless.earlier import Contexts, Earlier
from lamr_agents.lossless.rows import rows_of
from lamr_agents.lossless.steps import LEAST_SAVED, Shorter, shorten

__all__ = ["LEAST_SAVED", "Contexts", "Earlier", "Shorter", "rows_of", "shorten"]
