"""Line-level evaluation of pruners: items, metrics, lexical baselines, reports and a held-out benchmark.

Needs numpy (matplotlib for plots only); never torch."""

from lamr_base.resampling import Bootstrap

from lamr_evaluation.baselines import BASELINES, LineScorer
from lamr_evaluation.errors import DataError, RecordError, ReservedError
from lamr_evaluation.measure import PrunerScorer, Selection, Selector, evaluate, evaluate_pruner
from lamr_evaluation.metrics import Metrics, Summary
from lamr_evaluation.records import Problem, Record, read_records, write_records
from lamr_evaluation.report import EvalReport, plot_recall
from lamr_evaluation.reserved import Reserved, reserved_package, reserved_path, reserved_repository
from lamr_evaluation.suites import SUITES, build_suite

__all__ = ["BASELINES", "SUITES", "Bootstrap", "DataError", "EvalReport", "LineScorer", "Metrics"]
__all__ += ["Problem", "PrunerScorer", "Record", "RecordError", "Reserved", "ReservedError", "Selection"]
__all__ += ["Selector", "Summary", "build_suite", "evaluate", "evaluate_pruner", "plot_recall"]
__all__ += ["read_records", "reserved_package", "reserved_path", "reserved_repository", "write_records"]
