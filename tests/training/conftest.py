"""What the tests of training share."""

from __future__ import annotations

import pytest
from lamr_training.model.vocabulary import Vocabulary

from tests.training.samples import vocabulary


@pytest.fixture(scope="session")
def words() -> Vocabulary:
    """The code-aware vocabulary of a few files; nothing changes it."""
    return vocabulary()
