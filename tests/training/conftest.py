"""What the tests of training share."""

from collections.abc import Iterator

import pytest
import torch
from lamr_evaluation.records import Record
from lamr_training.backbone import Vocabulary
from lamr_training.loop.examples import ExampleSet

from tests.training.samples import example_set, questions, vocabulary


@pytest.fixture(scope="session")
def words() -> Vocabulary:
    """The code-aware vocabulary of a few files; nothing changes it."""
    return vocabulary()


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    """Compute as the processes do that tests start.

    Several threads also wait for each other at every operation, which takes many times as long on a busy
    machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def records() -> list[Record]:
    """Questions about a few files."""
    return questions()


@pytest.fixture(scope="session")
def data(words: Vocabulary, records: list[Record]) -> ExampleSet:
    """The examples of these records; nothing changes them."""
    return example_set(words, records)
