"""Benchmarks that print figures beside their targets; never part of the tests."""
