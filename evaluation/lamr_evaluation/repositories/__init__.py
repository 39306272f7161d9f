"""Does a pack hold the code that a change needed? Items out of git histories, baselines, and recall at budgets."""

from lamr_evaluation.repositories.items import RepositoryItem, read_items
from lamr_evaluation.repositories.measure import BUDGETS, METHODS, evaluate_repositories
from lamr_evaluation.repositories.report import RepositoryReport

__all__ = [
    "BUDGETS",
    "METHODS",
    "RepositoryItem",
    "RepositoryReport",
    "evaluate_repositories",
    "read_items",
]
