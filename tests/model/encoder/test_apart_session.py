"""The shipped encoder in two graphs: what was kept changes no bit of an answer, and less is read."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from lamr_base.errors import ModelMismatchError
from lamr_model.encoder.apart_session import FUSION_SHARE, ApartSession
from lamr_model.encoder.encoder_session import open_encoder
from lamr_model.encoder.kept_states import KeptStates
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.encoding import PromptEncoder
from lamr_model.names import ENCODER, ENCODER_OUTPUTS, ONNX_FILE, PART_FILE, PARTS_FILE, version_folder
from lamr_model.spec import bundled_repository

FOLDER = version_folder(bundled_repository(), ENCODER)
QUERIES = ("How are retries limited?", "where does close wait for calls that are still under way")


def opened(kept: KeptStates | None = None, folder: Path = FOLDER) -> ApartSession:
    session = open_encoder(folder / ONNX_FILE, threads=1, kept=KeptStates() if kept is None else kept)
    assert isinstance(session, ApartSession)
    return session


def sequences(query: str) -> list[np.ndarray]:
    """Some chunks of a file."""
    encoder = PromptEncoder.from_repository(bundled_repository())
    code = Path(__file__).parents[1].joinpath("test_encoding.py").read_text(encoding="utf-8")
    ids, offsets = encoder.encode_document(code)
    return [chunk.input_ids for chunk in encoder.chunk(encoder.encode_query(query), ids, offsets, code)[:5]]


class Watched:
    """A session that remembers what it read."""

    def __init__(self, inner: object) -> None:
        self.inner, self.read = inner, []

    def run(self, outputs, feed, options=None):
        self.read.append(len(feed["input_ids"]))
        return self.inner.run(outputs, feed, options)


def test_neither_what_was_kept_nor_the_batch_changes_a_bit() -> None:
    session = opened()
    for query in (*QUERIES, QUERIES[0]):
        feed = encoder_feed(sequences(query))
        warm, cold = session.run(ENCODER_OUTPUTS, feed), opened(KeptStates(0)).run(ENCODER_OUTPUTS, feed)
        for one, other in zip(warm, cold, strict=True):
            np.testing.assert_array_equal(one, other)
    together, alone = opened(), opened(KeptStates(0))
    asked = sequences(QUERIES[0])
    fused, _ = together.run(ENCODER_OUTPUTS, encoder_feed(asked))
    parts = [alone.run(ENCODER_OUTPUTS, encoder_feed([one]))[0] for one in asked]
    np.testing.assert_array_equal(fused, np.concatenate(parts))


def test_a_second_question_reads_the_query_alone() -> None:
    session = opened()
    watched = Watched(session._part())
    session._part = lambda: watched
    first, second = sequences(QUERIES[0]), sequences(QUERIES[1])
    session.run(ENCODER_OUTPUTS, encoder_feed(first))
    assert session.work(first[0]) == pytest.approx(FUSION_SHARE * len(first[0]))
    query = len(session.parts(second[0])[0])
    assert session.work(second[0]) == pytest.approx(
        FUSION_SHARE * len(second[0]) + (1 - FUSION_SHARE) * query
    )
    session.run(ENCODER_OUTPUTS, encoder_feed(second))
    assert watched.read[1:] == [query]


def test_a_sequence_without_a_separator_is_one_part() -> None:
    session = opened()
    lone = np.arange(10, 30, dtype=np.int64)
    assert [len(part) for part in session.parts(lone)] == [20]
    fused, _ = session.run(ENCODER_OUTPUTS, encoder_feed([lone]))
    whole, _ = open_encoder(FOLDER / ONNX_FILE, threads=1).run(ENCODER_OUTPUTS, encoder_feed([lone]))
    np.testing.assert_allclose(fused, whole, atol=0.5)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "encoder"))


def test_weights_that_changed_are_seen(copied: Path) -> None:
    data = bytearray((copied / ONNX_FILE).read_bytes())
    data[len(data) // 2] ^= 1
    (copied / ONNX_FILE).write_bytes(data)
    with pytest.raises(ModelMismatchError, match=r"model\.onnx is damaged"):
        opened(folder=copied)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": 1, "model_sha256": 3, "separator": 3}'])
def test_a_damaged_description_is_named(copied: Path, content: str) -> None:
    (copied / PARTS_FILE).write_text(content, encoding="utf-8")
    with pytest.raises(ModelMismatchError, match=PARTS_FILE):
        opened(folder=copied)


@pytest.mark.parametrize("content", [None, b"", b"\x00\xff" * 500])
def test_a_damaged_graph_is_named(copied: Path, content: bytes | None) -> None:
    (copied / PART_FILE).unlink()
    if content is not None:
        (copied / PART_FILE).write_bytes(content)
    with pytest.raises(ModelMismatchError, match=r"part\.onnx"):
        opened(folder=copied)


def test_without_a_description_the_encoder_is_one_graph(copied: Path) -> None:
    (copied / PARTS_FILE).unlink()
    session = open_encoder(copied / ONNX_FILE, threads=1, kept=KeptStates())
    assert not isinstance(session, ApartSession)
