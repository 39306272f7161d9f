"""The part of the post-processing benchmark that goes through real Python files; see `postprocess.py`."""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from lamr_postprocess import language_named, split_lines
from lamr_postprocess.document import Document, analyse
from lamr_postprocess.render import Style, render
from lamr_postprocess.repair import REASONS
from material import Mask, masks_of, python_files, report, undefined_names
from numpy.typing import NDArray
from tqdm import tqdm


@dataclass
class Tally:
    """What one case of the corpus did wrong, counted."""

    cases: int = 0
    unparsed: int = 0
    undefined: int = 0
    altered: int = 0

    def add(self, document: Document, mask: Mask, before: set[str]) -> NDArray[np.int8]:
        """Prune one file under one mask and count what is wrong; the reasons of its lines."""
        codes = document.repair(mask)
        kept = codes != 0
        text, cuts = render(document, kept, Style())
        self.cases += 1
        lines, output = split_lines(document.text), split_lines(text)
        starts = {cut.start - 1 for cut in cuts}
        order = [row for row in range(len(lines)) if kept[row] or row in starts]
        same = all(row in starts or lines[row] == line for row, line in zip(order, output, strict=False))
        self.altered += not (same and len(order) == len(output) and not (mask & ~kept).any())
        try:
            self.undefined += bool(undefined_names(text) - before)
        except RecursionError:
            pass
        except SyntaxError:
            self.unparsed += 1
        return codes


def corpus(options: argparse.Namespace) -> None:
    """Real Python files under five masks: parsing, kept lines, undefined names, and what repair adds."""
    rng = np.random.default_rng(0)
    tally, costs = Tally(), {}
    why: dict[str, defaultdict[str, float]] = {}
    python, files = language_named("python"), 0
    most = options.count or (3_000 if options.full else 150)
    for path, code in tqdm(python_files(most), total=most, unit="file", disable=None):
        files += 1
        try:
            before = undefined_names(code)
        except RecursionError:
            continue
        document = analyse(code, python)
        lines = document.spans.shape[0]
        for name, mask in masks_of(code, lines, rng).items():
            wrong = tally.unparsed + tally.undefined + tally.altered
            codes = tally.add(document, mask, before)
            if tally.unparsed + tally.undefined + tally.altered > wrong:
                print(f"  wrong: {path} under {name}")
            if lines >= 50 and name not in ("random", "alternating"):
                added = (codes != 0) & ~mask
                costs.setdefault(name, []).append((added.mean(), (added & ~document.blank).mean()))
                reasons = np.bincount(codes[added], minlength=len(REASONS))
                mean = why.setdefault(name, defaultdict(float))
                for number, rows in enumerate(reasons.tolist()):
                    mean[REASONS[number]] += rows / lines
    report(f"of {tally.cases} cases ({files} files): do not parse", tally.unparsed, "", 0)
    report("kept lines altered, moved or lost", tally.altered, "", 0)
    report("cases with a new undefined name", tally.undefined, "", 0)
    for name, values in costs.items():
        every, inked = np.array(values).T * 100
        target = 8 if name == "functions" else None
        report(f"repair adds under {name}: median of lines", float(np.median(every)), "%", target)
        report(f"repair adds under {name}: 90th percentile", float(np.quantile(every, 0.9)), "%")
        report(f"repair adds under {name}: median without blank lines", float(np.median(inked)), "%")
    for name, mean in why.items():
        shares = {
            reason: f"{rows / len(costs[name]):.1%}"
            for reason, rows in sorted(mean.items(), key=lambda item: -item[1])
            if rows
        }
        print(f"  mean under {name}, in lines of the file:", shares)
