"""Line-level evaluation of pruners: items, metrics, lexical baselines, reports and a held-out benchmark.

Needs numpy (matplotlib for plots only); never torch.
"""

from lamr_evaluation.baselines import BASELINES, CosineOverFunctions, LineScorer
from lamr_evaluation.benchmark import HELD_OUT, QUESTION_KINDS, build_items
from lamr_evaluation.items import DataError, EvalItem, read_items, write_items
from lamr_evaluation.metrics import Bootstrap, Metrics, Summary
from lamr_evaluation.plot import plot_recall
from lamr_evaluation.report import EvalReport, evaluate, evaluate_pruner
from lamr_evaluation.scorers import PrunerScorer, Selection, Selector

__all__ = [
    "BASELINES",
    "HELD_OUT",
    "QUESTION_KINDS",
    "Bootstrap",
    "CosineOverFunctions",
    "DataError",
    "EvalItem",
    "EvalReport",
    "LineScorer",
    "Metrics",
    "PrunerScorer",
    "Selection",
    "Selector",
    "Summary",
    "build_items",
    "evaluate",
    "evaluate_pruner",
    "plot_recall",
    "read_items",
    "write_items",
]
