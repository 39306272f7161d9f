"""Benchmarks that print figures beside their targets. They are never part of the tests.

    python -m benchmarks              # all of them on short samples, and one table of what has a target
    python -m benchmarks.NAME         # one of them; --help names its options, --json prints its figures for machines

Both are run from the root of a checkout. A program here is a parser and a function that yields figures; `report.py`
prints them."""
