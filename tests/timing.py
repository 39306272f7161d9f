"""How work grows with what it is given, on CPUs that others use too."""

import time
from collections.abc import Callable
from typing import Any


def growth(work: Callable[[Any], object], given: Callable[[int], Any], size: int, times: int) -> float:
    """How many times as much CPU time work takes where it is given so many times as much: about `times`, and its
    square where the time grows as the square. Of three runs each the quickest counts: the others had company."""

    def seconds(size: int) -> float:
        subject, samples = given(size), []
        for _ in range(3):
            begin = time.process_time()
            work(subject)
            samples.append(time.process_time() - begin)
        return min(samples)

    return seconds(size * times) / (seconds(size) + 0.01)  # what takes next to no time grows as it likes
