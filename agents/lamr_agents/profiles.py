"""How boldly lamr cuts: a row a profile, from the one that loses nothing to the one that saves the most.

The thresholds were chosen on recorded sessions; docs/lab/agents.md tells what each profile comes to on others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from lamr_contract.choices import ProfileName

from lamr_agents.policy import Policy

DEFAULT: ProfileName = "careful"
PROFILES: Mapping[ProfileName, Policy] = {
    "lossless": Policy(prunes=False, shortens=True),
    "careful": Policy(threshold=0.25, least_relevance=0.0, shortens=True),
    "balanced": Policy(threshold=0.33, least_relevance=0.0, shortens=True),
    "eager": Policy(shortens=True),
}
assert set(PROFILES) == set(get_args(ProfileName))
