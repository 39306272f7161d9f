"""Line-level evaluation of pruners: items, metrics, lexical baselines, reports and a held-out benchmark.

Needs numpy (matplotlib for plots only); never torch.
"""

from lamr_evaluation.benchmark import HELD_OUT, build_items
from lamr_evaluation.items import DataError, EvalItem, read_items, write_items

__all__ = ["HELD_OUT", "DataError", "EvalItem", "build_items", "read_items", "write_items"]
