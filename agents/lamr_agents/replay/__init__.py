"""What pruning would have saved in sessions that people have recorded, and what it would have cost.

`prices` reads a price table, and `bill` turns tokens into money. `recorded` finds and reads logs, `ways` are
the ways to cut that are compared, `outcome` counts what each comes to, and `session` joins them for one log.
`scored_once` keeps the pruner's work for the next replay. `figures` adds up with intervals; `report` writes tables and
JSON, and `page` one HTML page.
"""

from lamr_agents.errors import NoSessionError
from lamr_agents.replay.prices import Prices, bundled_prices, read_prices
from lamr_agents.replay.recorded import Recorded, Result, find_logs, record_of
from lamr_agents.replay.report import Report
from lamr_agents.replay.scored_once import ScoredOnce, model_of
from lamr_agents.replay.session import Replayed, replay
from lamr_agents.replay.ways import Judge, Way, pruned, ways

__all__ = [
    "Judge",
    "NoSessionError",
    "Prices",
    "Recorded",
    "Replayed",
    "Report",
    "Result",
    "ScoredOnce",
    "Way",
    "bundled_prices",
    "find_logs",
    "model_of",
    "pruned",
    "read_prices",
    "record_of",
    "replay",
    "ways",
]
