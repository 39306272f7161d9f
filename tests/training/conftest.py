"""What the tests of training share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lamr_training.loop.devices import one_thread
from lamr_training.model.vocabulary import Vocabulary

from tests.training.samples import vocabulary


@pytest.fixture(scope="session")
def words() -> Vocabulary:
    """The code-aware vocabulary of a few files; nothing changes it."""
    return vocabulary()


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    """Compute as the processes do that tests start.

    Several threads also wait for each other at every operation, which takes many times as long on a busy machine.
    """
    with one_thread():
        yield
