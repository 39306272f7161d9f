"""Collections pause while a file is analysed, and go on afterwards as they were."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from lamr_postprocess import prune_lines
from lamr_postprocess.prune import without_collections


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize("enabled", [True, False])
def test_afterwards_all_is_as_before(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    with without_collections():
        assert not gc.isenabled()
    assert gc.isenabled() == enabled
    with pytest.raises(ValueError, match="scores"):
        prune_lines("def f():\n    return 1\n", [0], path="a.py")
    assert gc.isenabled() == enabled


def test_pauses_may_overlap() -> None:
    first, second = without_collections(), without_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert gc.isenabled()
