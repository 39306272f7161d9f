"""The part of the post-processing benchmark that goes through real Python files; see `postprocess.py`."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from lamr_postprocess import language_named, split_lines
from lamr_postprocess.document import Document, analyse
from lamr_postprocess.render import Style, render
from lamr_postprocess.repair import REASONS
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks.material import Mask, masks_of, undefined_names
from benchmarks.report import Figure
from benchmarks.sources import python_files


@dataclass
class Tally:
    """Counts over the cases of the corpus, a case being one file under one mask."""

    cases: int = 0
    unparsed: int = 0
    undefined: int = 0
    altered: int = 0

    @property
    def wrong(self) -> int:
        """How many faults have been counted."""
        return self.unparsed + self.undefined + self.altered

    def add(self, document: Document, mask: Mask, before: set[str]) -> NDArray[np.int8]:
        """Prune one file under one mask and count what is wrong; returns the reasons of its lines.

        Args:
            document: the file.
            mask: bool [L], the lines to keep.
            before: the names that are undefined in the whole file.
        """
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


class RepairCosts:
    """What repair adds under each kind of mask: the shares of lines, and the reasons."""

    def __init__(self) -> None:
        self._shares: dict[str, list[tuple[float, float]]] = {}
        self._reasons: dict[str, defaultdict[str, float]] = {}

    def add(self, name: str, document: Document, mask: Mask, codes: NDArray[np.int8]) -> None:
        """Count the lines that repair added to a mask of the given kind."""
        added = (codes != 0) & ~mask
        self._shares.setdefault(name, []).append((added.mean(), (added & ~document.blank).mean()))
        mean = self._reasons.setdefault(name, defaultdict(float))
        for number, rows in enumerate(np.bincount(codes[added], minlength=len(REASONS)).tolist()):
            mean[REASONS[number]] += rows / len(mask)

    def figures(self) -> Iterator[Figure]:
        """Shares and reasons, kind by kind."""
        for name, shares in self._shares.items():
            every, inked = np.array(shares).T * 100
            target = 8 if name == "functions" else None
            yield Figure(f"repair adds under {name}: median of lines", float(np.median(every)), "%", target)
            yield Figure(f"  repair adds under {name}: 90th percentile", float(np.quantile(every, 0.9)), "%")
            yield Figure(
                f"  repair adds under {name}: median without blank lines", float(np.median(inked)), "%"
            )
            for reason, total in sorted(self._reasons[name].items(), key=lambda item: -item[1]):
                if total:
                    yield Figure(f"    mean under {name}: {reason}", 100 * total / len(shares), "%")


def corpus(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Real Python files under five masks: parsing, kept lines, undefined names, and what repair adds."""
    rng = np.random.default_rng(0)
    tally, costs = Tally(), RepairCosts()
    python, files = language_named("python"), 0
    most = options.count or (3_000 if options.full else 150)
    for path, code in tqdm(python_files(most), total=most, unit="file", disable=None):
        files += 1
        try:
            before = undefined_names(code)
        except RecursionError:
            continue
        document, bare = analyse(code, python), analyse(code, python, least_cut=0)
        lines = document.spans.shape[0]
        for name, mask in masks_of(code, lines, rng).items():
            wrong = tally.wrong
            codes = tally.add(document, mask, before)
            if tally.wrong > wrong:
                yield f"  wrong: {path} under {name}"
            if lines >= 50 and name not in ("random", "alternating"):
                costs.add(name, bare, mask, bare.repair(mask))
                costs.add(f"{name}, small gaps filled", document, mask, codes)
    yield Figure(f"of {tally.cases} cases ({files} files): do not parse", tally.unparsed, "", 0)
    yield Figure("kept lines altered, moved or lost", tally.altered, "", 0)
    yield Figure("cases with a new undefined name", tally.undefined, "", 0)
    yield from costs.figures()
