"""The configuration that Triton passes is read, and a session follows it, or says what it can't do."""

import dataclasses
import json
import shutil

import numpy as np
import onnxruntime
import pytest
from lamr_base.cpus import usable_cpus
from lamr_model.encoder.apart_session import ApartSession
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.spec import bundled_repository
from lamr_serving.onnx_backend.session import (
    BatchInput,
    ModelConfigError,
    OnnxModelConfig,
    TensorConfig,
    choose_providers,
    open_session,
    read_config,
    run_options,
    session_options,
)

FP32 = np.dtype(np.float32)
CONFIG = OnnxModelConfig(
    name="lamr_encoder",
    file="model.onnx",
    inputs=(TensorConfig("input_ids", np.dtype(np.int64), (-1,)),),
    outputs=(TensorConfig("fused", FP32, (-1, 6)), TensorConfig("relevance", FP32, (1,))),
    batch_inputs=(
        BatchInput(
            "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "cu_seqlens", np.dtype(np.int32), "input_ids"
        ),
        BatchInput("BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", "max_len", FP32, "input_ids"),
    ),
    scatter={"fused": "input_ids"},
    parameters={},
    accelerators={},
)


def with_parameters(**parameters):
    return dataclasses.replace(CONFIG, parameters=parameters)


@pytest.fixture
def model_file(tiny):
    return tiny.root / "lamr_encoder" / "1" / "model.onnx"


def test_opens_what_the_configuration_describes(model_file):
    session = open_session(CONFIG, model_file, "CPU")
    assert session.get_providers() == ["CPUExecutionProvider"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_inputs": CONFIG.batch_inputs[:1]}, "takes .*max_len.* but config.pbtxt gives"),
        ({"outputs": (TensorConfig("other", FP32, (1,)),)}, "no output other"),
        (
            {"outputs": (TensorConfig("fused", np.dtype(np.float16), (-1, 6)),)},
            r"fused is tensor\(float\).* float16",
        ),
    ],
)
def test_a_graph_of_another_signature_is_refused(model_file, changes, message):
    with pytest.raises(ModelConfigError, match=message):
        open_session(dataclasses.replace(CONFIG, **changes), model_file, "CPU")


def test_a_file_that_is_no_model_is_named(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelConfigError, match=r"can't load .*model\.onnx"):
        open_session(CONFIG, tmp_path / "model.onnx", "CPU")


@pytest.mark.parametrize(
    ("key", "default"), [("session.force_spinning_stop", "1"), ("session.intra_op.spin_duration_us", "20")]
)
def test_threads_spin_shortly_and_within_a_run_unless_told_otherwise(key, default):
    assert session_options(CONFIG, onnxruntime).get_session_config_entry(key) == default
    assert session_options(with_parameters(**{key: "0"}), onnxruntime).get_session_config_entry(key) == "0"


def test_parameters_are_tritons_and_the_command_lines_threads_count_where_they_are_silent(monkeypatch):
    monkeypatch.delenv("LAMR_THREADS", raising=False)
    assert session_options(with_parameters(intra_op_thread_count="3"), onnxruntime).intra_op_num_threads == 3
    default = session_options(CONFIG, onnxruntime)
    assert default.intra_op_num_threads == usable_cpus()
    assert not default.enable_mem_pattern
    monkeypatch.setenv("LAMR_THREADS", "5")
    assert session_options(CONFIG, onnxruntime).intra_op_num_threads == 5
    assert session_options(with_parameters(intra_op_thread_count="2"), onnxruntime).intra_op_num_threads == 2
    with pytest.raises(ModelConfigError, match="intra_op_thread_count"):
        session_options(with_parameters(intra_op_thread_count="many"), onnxruntime)
    assert run_options(CONFIG, onnxruntime) is None
    options = run_options(with_parameters(**{"memory.enable_memory_arena_shrinkage": "cpu:0"}), onnxruntime)
    assert options.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"


def test_providers(monkeypatch):
    monkeypatch.setenv("LAMR_THREADS", "3")
    both = ["CUDAExecutionProvider", "OpenVINOExecutionProvider", "CPUExecutionProvider"]
    openvino = dataclasses.replace(CONFIG, accelerators={"CPU": {"openvino": {"precision": "FP32"}}})
    assert choose_providers(CONFIG, "CPU", 0, both) == ["CPUExecutionProvider"]
    assert choose_providers(CONFIG, "GPU", 1, both) == [
        ("CUDAExecutionProvider", {"device_id": "1"}),
        "CPUExecutionProvider",
    ]
    assert choose_providers(openvino, "CPU", 0, both)[0] == (
        "OpenVINOExecutionProvider",
        {"num_of_threads": "3", "precision": "FP32"},
    )
    own = dataclasses.replace(CONFIG, accelerators={"CPU": {"openvino": {"num_of_threads": "1"}}})
    assert choose_providers(own, "CPU", 0, both)[0] == ("OpenVINOExecutionProvider", {"num_of_threads": "1"})


@pytest.mark.parametrize(("kind", "message"), [("GPU", r"\.\[gpu\]"), ("CPU", "OpenVINO")])
def test_a_provider_that_is_not_installed(kind, message):
    openvino = dataclasses.replace(CONFIG, accelerators={"CPU": {"openvino": {}}})
    with pytest.raises(ModelConfigError, match=message):
        choose_providers(openvino, kind, 0, ["CPUExecutionProvider"])


def test_an_unknown_accelerator():
    with pytest.raises(ModelConfigError, match="abacus"):
        choose_providers(dataclasses.replace(CONFIG, accelerators={"CPU": {"abacus": {}}}), "CPU", 0, [])


def shipped(**parameters):
    return dataclasses.replace(
        with_parameters(**parameters),
        outputs=(TensorConfig("fused", FP32, (-1, 384)), TensorConfig("relevance", FP32, (1,))),
    )


def test_an_encoder_that_reads_query_and_code_apart_is_served_by_its_two_graphs():
    session = open_session(shipped(), bundled_repository() / "lamr_encoder" / "1" / "model.onnx", "CPU")
    assert isinstance(session, ApartSession)
    assert session.get_providers() == ["CPUExecutionProvider"]
    feed = encoder_feed([np.arange(4, 60, dtype=np.int64)])
    fused, relevance = session.run(["fused", "relevance"], feed, None)
    assert fused.shape == (56, 384)
    assert relevance.shape == (1, 1)
    assert session.work(feed["input_ids"]) == 56, "nothing is kept"
    file = bundled_repository() / "lamr_encoder" / "1" / "model.onnx"
    session = open_session(shipped(kept_states_bytes="1000000"), file, "CPU")
    session.run(["fused"], feed)
    assert session.work(feed["input_ids"]) < 56


def test_weights_of_other_graphs_are_refused(tmp_path):
    folder = shutil.copytree(bundled_repository() / "lamr_encoder" / "1", tmp_path / "1")
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"\x00")
    with pytest.raises(ModelConfigError, match=r"model\.onnx is damaged"):
        open_session(shipped(), folder / "model.onnx", "CPU")


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


def test_what_a_backend_acts_on_is_read():
    read = read_config(config())
    assert (read.name, read.file) == ("lamr_encoder", "model.onnx")
    assert [(tensor.name, tensor.dtype, tensor.dims) for tensor in read.inputs] == [
        ("input_ids", np.int64, (-1,))
    ]
    assert read.batch_inputs[0].target == "cu_seqlens"
    assert read.batch_inputs[0].dtype == np.int32
    assert read.scatter == {"fused": "input_ids"}  # the only kind is also protobuf's default
    assert read.parameters == {"intra_op_thread_count": "3"}
    assert read_config(config(default_model_filename="other.onnx")).file == "other.onnx"
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
