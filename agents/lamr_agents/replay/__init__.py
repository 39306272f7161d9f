"""What pruning would have saved in sessions that people have recorded, and what it would have cost.

`recorded` finds and reads logs. `session` cuts the results of one as hooks would have, and counts by what came later
what that comes to; `bill` turns tokens into money by a price table (`prices`). `report` writes a table and JSON, and
`page` one HTML page.
"""

from lamr_agents.replay.prices import PriceTable, bundled_prices, read_prices
from lamr_agents.replay.recorded import Recorded, Result, find_logs, record_of
from lamr_agents.replay.report import Report
from lamr_agents.replay.session import Replayed, replay, shown_by_hooks

__all__ = [
    "PriceTable",
    "Recorded",
    "Replayed",
    "Report",
    "Result",
    "bundled_prices",
    "find_logs",
    "read_prices",
    "record_of",
    "replay",
    "shown_by_hooks",
]
