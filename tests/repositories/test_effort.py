"""How much the encoder reads for a pack: nothing, what there is time for, or all; and what a fault leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from lamr_client import AccessDeniedError, MockTransport, Pruner, ServerUnavailableError
from lamr_contract.errors import InvalidInputError
from lamr_contract.scoring.rules import Scoring
from lamr_repositories import PackOptions, PackResult, pack
from lamr_repositories import line_opinions as opinions
from lamr_repositories.line_opinions import line_opinions
from lamr_repositories.line_scores import RANKERS, PieceScores

from tests.repositories.conftest import POOL, QUERY, write_files
from tests.tiny import BERT_PROMPT, make_spec, wordpiece, write_client_files

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
    assert str(result.effort) == "line model"
    assert max(result.files, key=lambda each: each.score).path == "src/pool.py"
    assert "(line model)" in result.summary()
    assert result.to_dict()["effort"] == "line model"


def test_without_time_words_and_line_model_answer(
    folder: Path, pruner: Pruner, transport: MockTransport
) -> None:
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


def test_a_server_that_is_away_leaves_the_pack_to_the_line_model(
    folder: Path, pruner: Pruner, transport: MockTransport
) -> None:
    transport.errors = [ServerUnavailableError("gone")] * 99
    result = packed(folder, pruner)
    assert str(result.effort) == "line model; server unavailable"
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


def test_a_line_gains_by_what_the_line_model_says_of_it() -> None:
    pieces = PieceScores(np.array([[0, 3], [3, 6]]), np.array([0.5, 0.0]), 0.5, 0.0)
    unknown = RANKERS["sum"](pieces, None, None, 6)
    known = RANKERS["sum"](pieces, None, np.array([-5.0, 3.0, -5.0, 0.0, 0.0, 0.0]), 6)
    assert known.argmax() == 1
    assert known[1] > unknown[1] > known[0]
    assert RANKERS["bm25"](pieces, None, np.full(6, 3.0), 6).tolist() == unknown.tolist()


def test_the_first_files_are_scored_by_lines_as_far_as_there_is_room(
    pruner: Pruner, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [("src/pool.py", POOL), ("view.py", "def view(pool):\n    return pool.waiting\n"), ("a.py", "\n")]

    def scored() -> list[int]:
        return [len(each) for each in line_opinions(pruner.encoder, pruner.scorer, QUERY, "", files)]

    lines = len(POOL.splitlines()) + 1
    assert scored()[:2] == [lines, 3] or scored()[:2] == [lines - 1, 2]
    monkeypatch.setattr(opinions, "MOST_LINES", 1)
    assert len(scored()) == 1


def test_a_model_without_a_line_model_leaves_the_rest_to_the_words(folder: Path, tmp_path: Path) -> None:
    spec = make_spec(wordpiece(), BERT_PROMPT, scoring=Scoring())
    repository = write_client_files(tmp_path / "model", spec, wordpiece())
    write_files(folder)
    with Pruner(model=repository, transport=MockTransport()) as pruner:
        assert line_opinions(pruner.encoder, pruner.scorer, QUERY, "", [("a.py", POOL)]) == []
        result = packed(folder, pruner, effort="instant")
        words = pack(folder, QUERY, 900, pruner=pruner, options=PackOptions(ranker="bm25"))
    assert [each.path for each in result.files] == [each.path for each in words.files]
    assert words.effort is None
