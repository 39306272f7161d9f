"""Does a reader answer as well from a part of the tokens? Items, readers, pruners at equal tokens, paired comparisons.

    judgement = judge(items, Bench(reader, pruners, (0.25,), count, cache))

Importing this package loads neither torch nor the client of an endpoint."""

from lamr_evaluation.judge.items import TASK_NAMES, Item, read_items
from lamr_evaluation.judge.pruners import PRUNERS, Setup
from lamr_evaluation.judge.readers import Reader, RefusedError
from lamr_evaluation.judge.report import JudgeReport, figures_of
from lamr_evaluation.judge.run import Bench, Cost, Judgement, judge

__all__ = ["PRUNERS", "TASK_NAMES", "Bench", "Cost", "Item", "JudgeReport", "Judgement", "Reader"]
__all__ += ["RefusedError", "Setup", "figures_of", "judge", "read_items"]
