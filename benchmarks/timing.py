"""Timing of calls in turns, by CPU time and by the wall clock."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Timing:
    """Seconds of one call in each round: CPU time of all threads of this process, and wall-clock time."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @property
    def cpu_median(self) -> float:
        """Median CPU seconds, which a busy machine disturbs little."""
        return statistics.median(self.cpu)

    @property
    def wall_median(self) -> float:
        """Median wall-clock seconds."""
        return statistics.median(self.wall)


def time_in_turns(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Time each call once a round, after one round that doesn't count.

    The calls take turns, so that the machine's other load falls on all of them alike and their ratios hold."""
    timings = {name: Timing() for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            cpu, wall = time.process_time(), time.perf_counter()
            call()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if turn:
                timings[name].cpu.append(cpu)
                timings[name].wall.append(wall)
    return timings


def time_call(call: Callable[[], object], rounds: int) -> Timing:
    """Time one call several times, after one that doesn't count."""
    return time_in_turns({"call": call}, rounds)["call"]
