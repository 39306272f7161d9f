"""What lamr did in the sessions of a machine: what its hooks decided, and what that came to in dollars.

`happened` joins the hooks' record with the hosts' transcripts, `compare` sets sessions with cuts beside those that
were left alone, `report` writes tables and JSON, and `page` one HTML page with the curve.
"""

from lamr_agents.stats.happened import Happened, happened
from lamr_agents.stats.report import Stats

__all__ = ["Happened", "Stats", "happened"]
