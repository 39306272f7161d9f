"""The filter of system calls that keeps a server's shared memory its user's own.

Triton's Python backend makes its regions with `shm_open` and then sets their mode to 0644 with `fchmod`, so that
everybody on the machine could read the code that is being pruned, whatever the umask; it passes over an error. With
this filter `fchmod` fails with EPERM where it would open a file to anybody but its owner, so that the mode stays what
the umask left of it. A later `chmod` would come too late for who has opened the region before. The module knows Linux'
numbers for x86-64, where the bundled server runs, and classic BPF; `supervisor` installs the filter.
"""

from __future__ import annotations

import errno
import struct

_X86_64 = 0xC000003E
_FCHMOD = 91
_OTHERS = 0o077
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER_AT, _MACHINE_AT, _MODE_AT = 0, 4, 24  # in `struct seccomp_data`; the mode is the second argument
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000

PRIVATE_MEMORY = b"".join(
    struct.pack(
        "HBBI", code, if_true, if_false, value
    )  # the jumps count the instructions that are passed over
    for code, if_true, if_false, value in (
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 0, 5, _X86_64),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_EQUAL, 0, 3, _FCHMOD),
        (_LOAD, 0, 0, _MODE_AT),
        (_ANY_BIT, 0, 1, _OTHERS),
        (_RETURN, 0, 0, _FAIL | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    )
)
"""The filter's instructions, 8 bytes each."""
