"""Connects coding agents to the pruner: the query of a session, when to prune, and what pruning would have saved."""

from lamr_agents.intent import Intent, Known, intent_of
from lamr_agents.policy import Policy, ToolResult
from lamr_agents.skim import asked_for, skim
from lamr_agents.skimmed import Skim

__all__ = ["Intent", "Known", "Policy", "Skim", "ToolResult", "asked_for", "intent_of", "skim"]
