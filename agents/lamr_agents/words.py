"""What lamr tells agents about a result, all of it: what is shown, and what to read to see the rest.

An agent acts on whatever stands in its context. So these words say what to do with the file, and nothing of lamr. The
words for a call that fails before this package is imported are `thin`'s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lamr_agents.thin import NOTE

BY_RANGE = "read a range of lines to see what a marker stands for"
BY_NAME = f"{BY_RANGE}, or search the file for a name in it where it has no numbers"
BY_COMMAND = "`{command}{between}{key}:{first}-{last}` prints the lines {first}-{last}"
AN_OUTLINE = "an outline, since nothing here seems to answer: "
IN_HASTE = "judged in haste ({why}): "
HOSTS_NUMBERS = (
    f"{NOTE} the host numbers the lines that are left; the markers carry the file's own numbers]\n"
)
KNOWN_LINES = (
    f"{NOTE} lines {{first}}-{{last}} are as you read lines {{as_first}}-{{as_last}} of {{path}} above]"
)
_NAMES_LINES = re.compile(rf"^{re.escape(NOTE)} lines \d+-\d+ are as you read lines ", re.MULTILINE)
FILE_ENDS = f"{NOTE} the file has {{lines}} lines]\n"
MORE_LINES = f"{NOTE} {{lines}} lines at a time; expand shows others]\n"
MORE_MATCHES = f"{NOTE} there are more matches; narrow the search]\n"
_SHOWN = "{kept} of the lines {lines} are shown"
_SHOWN_WITHOUT_NUMBERS = "{kept} of {lines} lines are shown"
_ITS_OWN = f"; {{alike}} of these have `{NOTE}` in them, which is the text's own"
_UNSEEN = "; {unseen} of these have invisible characters"


def note(  # noqa: PLR0913  # keyword-only but for the parts
    kept: int,
    lines: int,
    undo: str,
    *,
    numbers: Sequence[tuple[int, int]] = (),
    why: str = "",
    alike: int = 0,
    unseen: int = 0,
) -> str:
    """The last line of what an agent is shown: how much is hidden and how to see it.

    Args:
        kept: how many lines are shown.
        lines: how many the text has.
        undo: how hidden lines can be seen.
        numbers: first and last number of the text's lines in their file, by part; none where they aren't known.
        why: what is said before.
        alike: how many lines of the text itself look like words of lamr's.
        unseen: how many have invisible characters.
    """
    ranges = ", ".join(f"{first}-{last}" for first, last in numbers)
    words = _SHOWN if ranges else _SHOWN_WITHOUT_NUMBERS
    own = _ITS_OWN.format(alike=alike) if alike else ""
    own += _UNSEEN.format(unseen=unseen) if unseen else ""
    return f"{NOTE} {why}{words.format(kept=kept, lines=ranges or lines)}{own}; {undo}]\n"


def names_lines(text: str) -> bool:
    """Whether a result names lines instead of showing them again."""
    return _NAMES_LINES.search(text) is not None


def known_note(*, ended: bool) -> str:
    """The last line of a read that names lines instead of showing them again.

    Args:
        ended: whether the text ends with the end of a line.
    """
    end = "" if ended else "; its last line has no end"
    return f"{NOTE} lines that your context holds are named; read them again to have them shown{end}]\n"
