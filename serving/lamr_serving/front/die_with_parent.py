"""Becomes a program that the kernel ends together with whoever started it. Run as a script, standard library only.

A process of its own does this, because code between fork and exec isn't safe in a process that has threads.

    python die_with_parent.py PARENT PROGRAM ARGUMENT..."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program, *arguments = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        raise SystemExit(1)
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    main()
