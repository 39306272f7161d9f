"""Replays recorded sessions: what pruning would have saved, and what it would have cost.

`recorded` finds and reads logs, `session` cuts the results of one and counts what came of it, `bill` turns tokens into
money by a price table, and `report` writes a table, JSON and one HTML page."""

from lamr_agents.replay.bill import PriceError, PriceTable, bundled_prices, read_prices
from lamr_agents.replay.recorded import LogError, NoSessionError, Recorded, Result, find_logs, record_of
from lamr_agents.replay.report import Report
from lamr_agents.replay.session import Replayed, replay, shown_by_hooks

__all__ = ["LogError", "NoSessionError", "Recorded", "Result", "find_logs", "record_of"]
__all__ += ["PriceError", "PriceTable", "bundled_prices", "read_prices"]
__all__ += ["Replayed", "Report", "replay", "shown_by_hooks"]
