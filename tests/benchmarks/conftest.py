"""Tests of programs that train share what tests of training share."""

from tests.training.conftest import data, records, single_thread, words  # noqa: F401
