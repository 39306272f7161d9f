"""A complete ONNX file is told from a damaged one without loading it."""

import numpy as np
import onnx
import pytest
from lamr_serving.repository_check.reading import BrokenOnnxError, check_onnx


@pytest.fixture
def model_file(tiny, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes((tiny.root / "lamr_encoder" / "1" / "model.onnx").read_bytes())
    return path


def test_a_complete_file_passes(model_file):
    check_onnx(model_file)


def test_no_truncated_file_passes(model_file):
    whole = model_file.read_bytes()
    # Cut everywhere, but every 7th place is enough in the long middle.
    for size in [*range(1, 60), *range(60, len(whole) - 60, 7), *range(len(whole) - 60, len(whole))]:
        model_file.write_bytes(whole[:size])
        with pytest.raises(BrokenOnnxError):
            check_onnx(model_file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
        (b"\xff" * 50, "isn't an ONNX model"),
        (b"{}", "isn't an ONNX model|truncated"),
        (b"PK\x03\x04 not this", "isn't an ONNX model|truncated"),
        (b"\x08\x09", "ends before the model does"),
    ],
)
def test_other_things(tmp_path, content, message):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(BrokenOnnxError, match=message):
        check_onnx(path)


def test_a_graph_needs_nodes(tmp_path):
    graph = onnx.helper.make_graph([], "empty", [], [])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "model.onnx")
    with pytest.raises(BrokenOnnxError, match="no nodes"):
        check_onnx(tmp_path / "model.onnx")


@pytest.fixture
def external(tmp_path):
    """A model whose weights lie in a second file."""
    weight = onnx.numpy_helper.from_array(np.ones((50, 50), np.float32), "weight")
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [50, 50])
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "weight"], ["y"])], "g", [value], [], [weight]
    )
    onnx.save_model(
        onnx.helper.make_model(graph),
        tmp_path / "model.onnx",
        save_as_external_data=True,
        location="model.data",
        size_threshold=0,
    )
    return tmp_path


def test_external_data_must_be_there_and_long_enough(external):
    check_onnx(external / "model.onnx")
    data = external / "model.data"
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(
        BrokenOnnxError, match=r"model\.data is truncated: 9999 bytes, but .*'weight' ends at 10000"
    ):
        check_onnx(external / "model.onnx")
    data.unlink()
    with pytest.raises(BrokenOnnxError, match=r"model\.data is missing"):
        check_onnx(external / "model.onnx")
