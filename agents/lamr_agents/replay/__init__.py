"""What pruning would have saved in sessions that people have recorded, and what it would have cost.

`find` finds logs, `prices` reads a price table, `bill` turns tokens into money, `session` replays one log, `yardsticks`
are other ways to cut as much, `report` adds up and writes tables and JSON, and `page` one HTML page.
"""

from lamr_agents.replay.find import find_logs
from lamr_agents.replay.prices import Prices, bundled_prices, read_prices
from lamr_agents.replay.report import Report
from lamr_agents.replay.session import Replayed, replay_log

__all__ = [
    "Prices",
    "Replayed",
    "Report",
    "bundled_prices",
    "find_logs",
    "read_prices",
    "replay_log",
]
