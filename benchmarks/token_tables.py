"""How near the tables of tokens come to the tokenizers that they stand for, by file ending; and how they are fitted.

    python -m benchmarks.token_tables TEXT [TEXT ...] --tokenizers FOLDER [--fit] [--json]

FOLDER holds a `tokenizer.json` for each table, as `o200k.json`. The figure of an ending is the sum of a table's counts
over that of the real ones. `--fit` prints tables that are fitted to these texts, each ending as heavy as the others, in
place of figures: by least squares of relative errors, with a little pull towards one token a piece."""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository
from lamr_model.tokens.token_tables import TABLES, TokenTable, features, pieces_of
from lamr_model.tokens.tokenizer_files import parse_tokenizer
from numpy.typing import NDArray

from benchmarks.report import Figure, option_parser, run

_PULL = 2e-4
_EXTRA = (
    "parts",
    "parted",
    "short",
    "long",
    "marks 2",
    "marks 3",
    "marks more",
    "same",
    "many",
    "tabs",
    "blank",
)


@lru_cache(maxsize=1)
def _encoder() -> PromptEncoder:
    return PromptEncoder.from_repository(bundled_repository())


def _parts(words: list[str]) -> list[int]:
    counts: list[int] = _encoder().count_each(words).tolist()
    return counts


def measure(arguments: argparse.Namespace) -> Iterator[Figure]:
    """Compare each table with its tokenizer, or fit all."""
    texts = [path.read_text("utf-8") for path in arguments.texts]
    endings = np.array([path.suffix for path in arguments.texts])
    for name in TABLES:
        file = arguments.tokenizers / f"{name}.json"
        if not file.exists():
            continue
        tokenizer = parse_tokenizer(file.read_text("utf-8"))
        real = np.array([len(tokenizer.encode(text, add_special_tokens=False)) for text in texts], float)
        if arguments.fit:
            _print_table(name, texts, endings, real)
            continue
        table = TokenTable(name, _parts).count_each(texts)
        for ending in sorted(set(endings.tolist())):
            of_it = endings == ending
            share = float(table[of_it].sum() / real[of_it].sum())
            yield Figure(f"{name}: {ending}, {of_it.sum()} files", share, "x")


def _print_table(name: str, texts: list[str], endings: NDArray[np.str_], real: NDArray[np.float64]) -> None:
    """Print the table that fits these texts best, in JSON."""
    rows = [_counted(text) for text in texts]
    names = sorted({each for row in rows for each in row} | {"control"})
    counts = np.array([[row[each] for each in names] for row in rows], float)
    one = np.array([0.0 if any(word in each for word in (*_EXTRA, "underscore")) else 1.0 for each in names])
    sizes = Counter(endings.tolist())
    scale = np.sqrt([1 / sizes[ending] for ending in endings.tolist()]) / real
    wide, wanted = counts * scale[:, None], real * scale
    square = wide.T @ wide
    pull = _PULL * np.trace(square) / len(names) * np.eye(len(names))
    weights = one + np.linalg.solve(square + pull, wide.T @ (wanted - wide @ one))
    print(json.dumps({name: dict(zip(names, weights.round(3).tolist(), strict=True))}, indent=1))


def _counted(text: str) -> dict[str, float]:
    """How often each row of a table stands in a text."""
    row: dict[str, float] = defaultdict(float)
    pieces = Counter(pieces_of(text))
    for many, of_piece in zip(pieces.values(), features(list(pieces), _parts), strict=True):
        for name, value in of_piece:
            row[name] += many * value
    return row


PARSER = option_parser(__doc__)
PARSER.add_argument("texts", type=Path, nargs="+", metavar="TEXT")
PARSER.add_argument("--tokenizers", type=Path, default=Path(), help="folder of o200k.json and so on")
PARSER.add_argument("--fit", action="store_true", help="print tables that are fitted to the texts")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
