"""How many CPUs this process may use: its affinity mask and its control group's quota, whichever is less."""

from __future__ import annotations

import math
import os
from pathlib import Path

CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


def usable_cpus(cpu_max: Path = CPU_MAX) -> int:
    """CPUs to size thread pools by; at least 1.

    onnxruntime's own default counts the machine's cores, which in a container with `--cpus=2` on a big host
    starts dozens of threads that are then throttled.
    """
    available = len(os.sched_getaffinity(0))
    try:
        quota, period = cpu_max.read_text(encoding="ascii").split()
        if quota != "max":
            available = min(available, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):
        pass  # no cgroup v2 here, so no quota that we could read
    return max(1, available)
