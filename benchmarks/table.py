"""The rows of `make bench`: which program's figure each is, and its target.

Knows the names in the programs' JSON; it runs nothing. A figure that is not there is a KeyError or StopIteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Found = Mapping[str, Any]  # a program's JSON
All = Mapping[str, Found]  # by program


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure out of some programs' findings, and its bound (from below if `at_least`)."""

    what: str
    programs: tuple[str, ...]
    read: Callable[[All], float]
    unit: str
    target: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        return value >= self.target if self.at_least else value <= self.target

    def ratio(self, value: float) -> float | None:
        """How many times better than the target: 1 and more is met. None for targets of 0."""
        if not (value and self.target):
            return None
        return value / self.target if self.at_least else self.target / value


def _of(program: str, *keys: str) -> Callable[[All], float]:
    def read(found: All) -> float:
        value: Any = found[program]
        for key in keys:
            value = value[key]
        return float(value)

    return read


def _row_of(program: str, figure: str, **wanted: object) -> Callable[[All], float]:
    """A figure of the first entry in a program's `rows` that has all of these values."""

    def read(found: All) -> float:
        rows = found[program]["rows"]
        return float(
            next(row[figure] for row in rows if all(row[key] == value for key, value in wanted.items()))
        )

    return read


def _outside_large(found: All) -> float:
    """Percent of the time that would be outside a 0.6B encoder, which isn't served here.

    A token's time outside lamr-mini's encoder (`throughput.py`), and the decoder's and four copies' at the 0.6B shape's
    width on top; over that and the 0.6B shape's own, 28 layers, at 512 tokens.
    """
    served, large = found["throughput"], found["large_encoder"]
    row = next(row for row in large["rows"] if row["tokens"] == 512)
    outside = served["served_seconds"] * served["outside_encoder_percent"] / 100 / served["tokens"]
    outside += (large["decoder_seconds"] + large["copies_seconds"]) / row["tokens"]
    return 100 * outside / (outside + row["seconds_whole"] / row["tokens"])


TABLE = (
    Row(
        "served over padded to 8,192, mixed trace",
        ("throughput",),
        _of("throughput", "served_over_baseline"),
        "x",
        25,
        True,
    ),
    *(
        Row(
            f"0.6B encoder, {tokens:,} tokens: of a product's rate",
            ("large_encoder",),
            _row_of("large_encoder", "share_percent", tokens=tokens),
            "%",
            target,
            True,
        )
        for tokens, target in ((512, 70), (2048, 55))
    ),
    *(
        Row(
            f"int8 encoder over fp32, {batch} tokens",
            ("encoder",),
            _row_of("encoder", "over_fp32", graph="int8", batch=batch),
            "x",
            2.5,
            True,
        )
        for batch in ("8 x 256", "1 x 400")
    ),
    Row(
        "keep decisions that int8 changes (at export)",
        ("shipped",),
        _of("shipped", "verification", "changed_percent"),
        "%",
        1,
    ),
    Row(
        "  in or out of the likeliest quarter",
        ("shipped",),
        _of("shipped", "verification", "moved_percent"),
        "%",
        1,
    ),
    Row(
        "packed over padded, mixed lengths",
        ("throughput",),
        _of("throughput", "packed_over_padded"),
        "x",
        1.5,
        True,
    ),
    Row(
        "time outside the encoder, lamr-mini, saturated",
        ("throughput",),
        _of("throughput", "outside_encoder_percent"),
        "%",
        20,
    ),
    Row("the same beside the 0.6B shape", ("throughput", "large_encoder"), _outside_large, "%", 5),
    Row("Triton over in-process, one request", ("serving",), _of("serving", "added_ms"), "ms", 3),
    Row(
        "decoder, 16 x 4,096 tokens, one core",
        ("decoding",),
        _row_of("decoding", "value", what="Viterbi + marginals, 16 x 4,096 tokens"),
        "ms",
        25,
    ),
    Row(
        "decoder, pytorch-crf's decode over ours",
        ("decoding",),
        _row_of("decoding", "value", target=50),
        "x",
        50,
        True,
    ),
    Row(
        "client, a token at 100,000, one core",
        ("client",),
        _of("client", "client cost a token, at 100,000"),
        "µs",
        2.5,
    ),
    Row(
        "growth of a whole prune, 1K to 100K tokens",
        ("end_to_end",),
        _of("end_to_end", "growth"),
        "x",
        1.3,
    ),
    Row("memory after 500 requests over 100", ("memory",), _of("memory", "ratio"), "x", 1.05),
    Row("p99 at twice the capacity over 0.8 times", ("overload",), _of("overload", "p99_ratio"), "x", 3),
    Row("  refused within, p99", ("overload",), _of("overload", "heavy", "refusal_p99_ms"), "ms", 50),
    Row("  lost", ("overload",), _of("overload", "heavy", "lost"), "", 0),
    # Not issue 5's, but as much a part of what a user waits for.
    Row("3,000 lines, served", ("end_to_end",), _of("end_to_end", "seconds_served"), "s", 6),
    Row(
        "CRF loss by a loop over ours, with gradients",
        ("decoding",),
        _row_of("decoding", "value", what="loop over ours"),
        "x",
        20,
        True,
    ),
    Row("records labelled a second", ("labels",), _of("labels", "records_per_second"), "/s", 300, True),
    Row(
        "post-processing 10,000 lines",
        ("postprocess",),
        _of("postprocess", "10,000 lines of Python, scores to text"),
        "ms",
        400,
    ),
    Row(
        "post-processing 20,000 lines over 10,000",
        ("postprocess",),
        _of("postprocess", "20,000 lines / 10,000 lines"),
        "x",
        2.3,
    ),
)
