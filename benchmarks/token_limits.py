"""Whether budgets hold for large models' tokenizers: `TokenLimits` beside the largest of their counts.

    python -m benchmarks.token_limits TEXT [TEXT ...] --tokenizers FOLDER [--lines 30] [--excerpts 4] [--json]

FOLDER holds `tokenizer.json` files. Each text is counted whole and in random excerpts, since budgets are of parts of
files. Figures are of texts whose letters beyond ASCII are mostly of one script, or else of one file ending.
"""

from __future__ import annotations

import argparse
import random
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from lamr_contract.encoding import PromptEncoder
from lamr_contract.spec import bundled_repository
from lamr_contract.tokens.tokenizer_files import parse_tokenizer
from lamr_postprocess import split_lines

from benchmarks.report import Figure, option_parser, run

LEAST = 30  # tokens; what is shorter is no budget
_SHARE = (
    0.05  # of a text's characters that are letters beyond ASCII, from which on it counts as one of a script
)


def measure(arguments: argparse.Namespace) -> Iterator[Figure]:
    """Measure each script and each ending."""
    encoder = PromptEncoder.from_repository(bundled_repository())
    tokenizers = [
        parse_tokenizer(file.read_text("utf-8")) for file in sorted(arguments.tokenizers.glob("*.json"))
    ]
    shares: dict[str, list[float]] = defaultdict(list)
    own: dict[str, list[float]] = defaultdict(list)
    chance = random.Random(0)
    for path in arguments.texts:
        text = path.read_text("utf-8", errors="replace")
        row = _row(text, path)
        for part in _parts(text, arguments.lines, arguments.excerpts, chance):
            most = max(len(each.encode(part, add_special_tokens=False)) for each in tokenizers)
            if most >= LEAST:
                shares[row].append(encoder.limits.count_tokens(part) / most)
                own[row].append(encoder.count_tokens(part) / most)
    for row, found in sorted(shares.items()):
        yield Figure(f"{row}: the least count over the largest tokenizer's", min(found), "x")
        yield Figure(f"{row}: the median", sorted(found)[len(found) // 2], "x")
        yield Figure(f"{row}: texts whose count is below", float(sum(share < 1 for share in found)))
        yield Figure(f"{row}: the median of the pruning model's own", sorted(own[row])[len(found) // 2], "x")


def _parts(text: str, lines: int, excerpts: int, chance: random.Random) -> Iterator[str]:
    """Yield a text and excerpts of it."""
    yield text
    rows = split_lines(text)
    for _ in range(excerpts if len(rows) > lines else 0):
        first = chance.randrange(len(rows) - lines)
        yield "".join(rows[first : first + lines])


def _row(text: str, file: Path) -> str:
    beyond = [character for character in text if not character.isascii() and character.isalpha()]
    if len(beyond) < _SHARE * len(text):
        return file.suffix or file.name
    return Counter(unicodedata.name(each, "?").split()[0].title() for each in beyond).most_common(1)[0][0]


PARSER = option_parser(__doc__)
PARSER.add_argument("texts", type=Path, nargs="+")
PARSER.add_argument(
    "--tokenizers", type=Path, default=Path(), help="folder of tokenizer.json files (the current one)"
)
PARSER.add_argument("--lines", type=int, default=30, help="of an excerpt (%(default)s)")
PARSER.add_argument("--excerpts", type=int, default=4, help="of each text (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
