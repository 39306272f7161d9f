"""Reading the model configuration that Triton passes to a Python model."""

import json

import numpy as np
import pytest
from lamr_serving.onnx_backend.session import ModelConfigError, read_config


def config(**changes):
    """The encoder's configuration as Triton's JSON, with `changes` on top."""
    base = {
        "name": "lamr_encoder",
        "max_batch_size": 8,
        "input": [
            {"name": "input_ids", "data_type": "TYPE_INT64", "dims": ["-1"], "allow_ragged_batch": True}
        ],
        "output": [
            {"name": "fused", "data_type": "TYPE_FP32", "dims": [-1, 6]},
            {"name": "relevance", "data_type": "TYPE_FP32", "dims": [1]},
        ],
        "batch_input": [
            {
                "kind": "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO",
                "target_name": ["cu_seqlens"],
                "data_type": "TYPE_INT32",
                "source_input": ["input_ids"],
            }
        ],
        "batch_output": [{"target_name": ["fused"], "source_input": ["input_ids"]}],
        "parameters": {"intra_op_thread_count": {"string_value": "3"}},
        "default_model_filename": "",
    }
    return json.dumps({**base, **changes})


def test_reads_what_a_backend_acts_on():
    read = read_config(config())
    assert (read.name, read.file) == ("lamr_encoder", "model.onnx")
    assert [(tensor.name, tensor.dtype, tensor.dims) for tensor in read.inputs] == [
        ("input_ids", np.int64, (-1,))
    ]
    assert read.batch_inputs[0].target == "cu_seqlens"
    assert read.batch_inputs[0].dtype == np.int32
    assert read.scatter == {"fused": "input_ids"}  # the only kind is also protobuf's default
    assert read.parameters == {"intra_op_thread_count": "3"}


def test_default_model_filename_is_honoured():
    assert read_config(config(default_model_filename="other.onnx")).file == "other.onnx"


def test_accelerators_keep_their_options():
    accelerators = {"cpu_execution_accelerator": [{"name": "openvino", "parameters": {"precision": "FP16"}}]}
    read = read_config(config(optimization={"execution_accelerators": accelerators}))
    assert read.accelerators == {"CPU": {"openvino": {"precision": "FP16"}}, "GPU": {}}


def batch_input(**changes):
    item = {
        "kind": "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE",
        "target_name": ["n"],
        "data_type": "TYPE_INT32",
        "source_input": ["input_ids"],
    }
    return [{**item, **changes}]


def tensor(**changes):
    return [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1], **changes}]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_input": batch_input(kind="BATCH_ELEMENT_COUNT")}, "batch_input kind BATCH_ELEMENT_COUNT"),
        ({"batch_input": batch_input(source_input=["nothing"])}, "source_input nothing is not an input"),
        ({"batch_input": batch_input(target_name=["a", "b"])}, "lamr export"),
        ({"batch_output": [{"kind": "NEW", "target_name": ["fused"]}]}, "batch_output kind NEW"),
        ({"batch_output": [{"source_input": ["input_ids"]}]}, "target_name"),
        ({"input": tensor(data_type="TYPE_STRING"), "batch_input": [], "batch_output": []}, "TYPE_STRING"),
        ({"input": tensor(), "batch_input": [], "batch_output": []}, "without allow_ragged_batch"),
        ({"max_batch_size": 0}, "needs max_batch_size > 0"),
    ],
)
def test_what_would_change_results_is_refused(changes, message):
    with pytest.raises(ModelConfigError, match=message):
        read_config(config(**changes))


@pytest.mark.parametrize("key", ["max_batch_tokens", "max_sequence_tokens", "vocabulary_size"])
def test_limits_are_whole_numbers(key):
    assert read_config(config(parameters={key: {"string_value": "4096"}})).limit(key) == 4096
    assert read_config(config()).limit(key) == 0
    with pytest.raises(ModelConfigError, match=key):
        read_config(config(parameters={key: {"string_value": "many"}}))
