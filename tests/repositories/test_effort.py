"""How much the encoder reads for a pack: nothing, what there is time for, or all; and what a fault leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_client import AccessDeniedError, MockTransport, Pruner, ServerUnavailableError
from lamr_contract.errors import InvalidInputError
from lamr_repositories import PackOptions, PackResult, pack

from tests.repositories.conftest import POOL, QUERY

AT_ONCE = 1e-6
"""Seconds that are over before the first chunk is chosen."""


@pytest.fixture
def transport() -> MockTransport:
    return MockTransport()


@pytest.fixture
def pruner(transport: MockTransport) -> Iterator[Pruner]:
    with Pruner(transport=transport, retries=0) as made:
        yield made


def packed(folder: Path, pruner: Pruner, cache: Path | None = None, **options: object) -> PackResult:
    return pack(folder, QUERY, 900, pruner=pruner, cache=cache, options=PackOptions(**options))  # type: ignore[arg-type]


def test_instant_asks_no_encoder(folder: Path, pruner: Pruner, transport: MockTransport) -> None:
    result = packed(folder, pruner, effort="instant")
    assert transport.requests == []
    assert str(result.effort) == "words"
    assert max(result.files, key=lambda each: each.score).path == "src/pool.py"
    assert "(words)" in result.summary()
    assert result.to_dict()["effort"] == "words"


def test_without_time_the_words_answer(folder: Path, pruner: Pruner, transport: MockTransport) -> None:
    late, instant = packed(folder, pruner, within=AT_ONCE), packed(folder, pruner, effort="instant")
    assert late.effort is not None
    assert (late.effort.read, late.effort.why) == (0, "time")
    assert late.text == instant.text
    assert late.notes == ()


def test_everything_is_read_where_there_is_time(
    folder: Path, pruner: Pruner, transport: MockTransport
) -> None:
    every = packed(folder, pruner, effort="full")
    assert every.effort is not None
    assert every.effort.read == every.effort.chunks == every.counts.chunks == len(transport.requests)
    assert packed(folder, pruner, within=3600).text == every.text
    assert packed(folder, pruner).text == every.text


def test_answers_that_are_kept_need_no_time(
    folder: Path, pruner: Pruner, transport: MockTransport, tmp_path: Path
) -> None:
    cache = tmp_path / "cache.sqlite"
    packed(folder, pruner, cache, effort="full", most_chunks=3)
    asked = len(transport.requests)
    some = packed(folder, pruner, cache, within=AT_ONCE)
    assert some.effort is not None
    assert (some.effort.read, some.effort.why) == (3, "time")
    every = packed(folder, pruner, cache, effort="full")
    assert len(transport.requests) >= asked + some.effort.chunks - 3
    again = packed(folder, pruner, cache, within=AT_ONCE)
    assert again.text == every.text
    assert again.effort == every.effort


def test_a_server_that_is_away_leaves_the_pack_to_the_words(
    folder: Path, pruner: Pruner, transport: MockTransport
) -> None:
    transport.errors = [ServerUnavailableError("gone")] * 99
    result = packed(folder, pruner)
    assert str(result.effort) == "words; server unavailable"
    assert any("gone" in each for each in result.notes)
    assert result.text == packed(folder, pruner, effort="instant").text
    with pytest.raises(ServerUnavailableError):
        packed(folder, pruner, degrade=False)
    transport.errors = [AccessDeniedError("wrong key")] * 99
    with pytest.raises(AccessDeniedError):
        packed(folder, pruner)


def test_efforts_are_checked() -> None:
    for wrong in ({"effort": "lazy"}, {"within": 0.0}):
        with pytest.raises(InvalidInputError):
            PackOptions(**wrong)  # type: ignore[arg-type]


def test_the_encoder_reads_the_best_piece_first(
    folder: Path, pruner: Pruner, transport: MockTransport
) -> None:
    packed(folder, pruner, effort="full", most_chunks=1)
    (request,) = transport.requests
    first = POOL.splitlines()[0]
    expected = pruner.encoder.encode_document(first)[0]
    assert set(expected.tolist()) <= set(request.input_ids.tolist())


def test_in_auto_it_reads_what_words_leave_undecided(
    folder: Path, pruner: Pruner, transport: MockTransport
) -> None:
    packed(folder, pruner, effort="full", most_chunks=1)
    packed(folder, pruner, most_chunks=1)
    best, undecided = (request.input_ids.tolist() for request in transport.requests)
    assert best != undecided
