"""The graphs of an encoder that reads query and code apart give what the one graph gives."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from lamr_export.part_graphs import write_parts
from lamr_model.encoder.apart_session import ApartSession
from lamr_model.encoder.encoder_session import open_encoder
from lamr_model.encoder.kept_states import KeptStates
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.names import (
    ENCODER,
    ENCODER_OUTPUTS,
    FUSION_FILE,
    ONNX_FILE,
    PART_FILE,
    PARTS_FILE,
    version_folder,
)
from lamr_model.spec import bundled_repository

from .models import packed

PRECISIONS = {"fp32": 1e-2, "int8": 0.2}
"""And how far results may be from those of the one graph: states are kept in half precision, and in int8 an input of a
product that rounding moves may fall to another level."""


@pytest.mark.parametrize("precision", PRECISIONS)
def test_both_graphs_together_give_what_the_one_gives(exported, precision: str) -> None:
    file = exported("bert-apart", precision).onnx
    session = open_encoder(file, threads=1, kept=KeptStates())
    assert isinstance(session, ApartSession)
    ids, bounds, _ = packed([30, 11, 64, 5])
    feed = encoder_feed(np.split(ids.numpy(), bounds[1:-1].tolist()))
    whole = open_encoder(file, threads=1).run(ENCODER_OUTPUTS, feed)
    for _ in range(2):
        for one, other in zip(session.run(ENCODER_OUTPUTS, feed), whole, strict=True):
            np.testing.assert_allclose(one, other, atol=PRECISIONS[precision])


def test_the_graphs_hold_no_weights_of_their_own(exported) -> None:
    folder = exported("bert-apart").onnx.parent
    for name in (PART_FILE, FUSION_FILE):
        graph = onnx.load_model(folder / name, load_external_data=False).graph
        assert {
            entry.value
            for tensor in graph.initializer
            for entry in tensor.external_data
            if entry.key == "location"
        } <= {ONNX_FILE}
        assert all(len(tensor.raw_data) < 1024 for tensor in graph.initializer)


def test_the_shipped_graphs_are_what_the_export_makes_of_the_shipped_file(tmp_path: Path) -> None:
    shipped = version_folder(bundled_repository(), ENCODER)
    (tmp_path / ONNX_FILE).write_bytes((shipped / ONNX_FILE).read_bytes())
    write_parts(tmp_path, 3)
    for name in (PART_FILE, FUSION_FILE, PARTS_FILE):
        assert (tmp_path / name).read_bytes() == (shipped / name).read_bytes(), name
