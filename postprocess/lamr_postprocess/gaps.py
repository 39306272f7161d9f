"""Filling the gaps between kept rows where a marker would hardly cost less than the rows that it stands for.

A gap is a run of cut rows between two kept ones. A small one is filled if all that its rows need is kept or filled as
well. Filling is monotone: where more is kept, a small gap falls into smaller ones, which need no more."""

from collections import deque

import numpy as np
from lamr_base.records import dataclass

from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.outline import NOBODY

_NO_RUN = -1


@dataclass(frozen=True, eq=False)
class Gaps:
    """What filling needs to know of a file with G groups, of which N rows are owned."""

    owner: IntArray  # [N], the group of each owned row, in the order of the file
    cost: IntArray  # [N + 1], what all owned rows before each cost, in any unit
    users: IntArray  # users, needed: [P], the pairs of groups of which the first needs the second
    needed: IntArray
    least_cut: int  # what the rows of a cut cost at least; a gap that costs less is filled

    def filled(self, kept: BoolArray) -> IntArray:
        """The groups whose rows fill gaps, ascending, for the groups bool [G] that are kept."""
        cut = ~kept[self.owner]
        run = self._small_runs(cut)
        groups = np.full(kept.shape[0], _NO_RUN, dtype=np.int64)
        groups[self.owner[cut]] = run[cut]  # of a group in several gaps any; `_refused` joins them
        refused = self._refused(run, cut, groups, kept)
        candidates: IntArray = np.flatnonzero(groups != _NO_RUN)
        filling: IntArray = candidates[~refused[groups[candidates]]]
        return filling

    def _small_runs(self, cut: BoolArray) -> IntArray:
        """For each owned row the number of its gap, int [N]; `_NO_RUN` for kept rows and in gaps that cost too much."""
        edges = np.flatnonzero(np.diff(np.concatenate(([False], cut, [False])).astype(np.int8))).reshape(
            -1, 2
        )
        inner = (edges[:, 0] > 0) & (edges[:, 1] < cut.shape[0])
        small = edges[inner & (self.cost[edges[:, 1]] - self.cost[edges[:, 0]] < self.least_cut)]
        run = np.full(cut.shape[0], _NO_RUN, dtype=np.int64)
        sizes = small[:, 1] - small[:, 0]
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        run[np.repeat(small[:, 0], sizes) + offsets] = np.repeat(np.arange(len(small)), sizes)
        return run

    def _refused(self, run: IntArray, cut: BoolArray, groups: IntArray, kept: BoolArray) -> BoolArray:
        """Which gaps need what is neither kept nor filled, bool [gaps]. `run`: the number of each row's gap; `cut`: the
        rows that aren't kept, both [N]. `groups`: the number of a gap of each group; `kept`: those kept, both [G]."""
        rows = np.flatnonzero(cut & (run != groups[self.owner]))
        # A group is kept whole, so its gaps are filled together or not at all.
        elsewhere = groups[self.owner[rows]]
        pairs = np.flatnonzero((groups[self.users] != _NO_RUN) & ~kept[self.needed])
        user, need = groups[self.users[pairs]], groups[self.needed[pairs]]
        needing = np.concatenate([run[rows], elsewhere, user])
        wanted = np.concatenate([elsewhere, run[rows], need])
        refused = np.zeros(int(run.max(initial=_NO_RUN)) + 1, dtype=np.bool_)
        refused[needing[(wanted == _NO_RUN) & (needing != _NO_RUN)]] = True
        both = (wanted != _NO_RUN) & (needing != _NO_RUN) & (wanted != needing)
        _spread(refused, needing[both].tolist(), wanted[both].tolist())
        return refused


def _spread(refused: BoolArray, needing: list[int], wanted: list[int]) -> None:
    """Refuse, too, what needs something that is refused."""
    users: dict[int, list[int]] = {}
    for user, need in zip(needing, wanted, strict=True):
        users.setdefault(need, []).append(user)
    queue = deque(need for need in users if refused[need])
    while queue:
        for user in users.get(queue.popleft(), ()):
            if not refused[user]:
                refused[user] = True
                queue.append(user)


def gaps_of(owner: IntArray, cost: IntArray, users: IntArray, needed: IntArray, least_cut: int) -> Gaps:
    """What filling needs to know.

    Args:
        owner: int [R], the group of each row, `NOBODY` where a row stands for itself.
        cost: int [R], what each row costs.
        users, needed: int [P], the pairs of groups of which the first needs the second.
        least_cut: what the rows of a cut cost at least; a gap that costs less is filled."""
    rows = np.flatnonzero(owner != NOBODY)
    return Gaps(owner[rows], np.concatenate(([0], np.cumsum(cost[rows]))), users, needed, least_cut)
