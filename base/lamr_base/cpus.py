"""How many CPUs this process may use (its affinity mask and its control group's quota), and what they can do."""

import math
import os
from pathlib import Path

CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
CPU_INFO = Path("/proc/cpuinfo")


def usable_cpus(cpu_max: Path = CPU_MAX) -> int:
    """Return the number of CPUs to size thread pools by; at least 1.

    onnxruntime's own default counts the machine's cores, which in a container with `--cpus=2` on a big host
    starts dozens of threads that are then throttled."""
    # Only Linux tells which CPUs a process may run on.
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = cpu_max.read_text(encoding="ascii").split()
        if quota != "max":
            available = min(available, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):
        pass  # no cgroup v2 here, so no quota that we could read
    return max(1, available)


def cpu_features(cpu_info: Path = CPU_INFO) -> frozenset[str]:
    """Return the first CPU's features as Linux names them, such as `avx512_vnni`; none where they can't be read."""
    try:
        text = cpu_info.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):  # x86, Arm
            return frozenset(value.split())
    return frozenset()
