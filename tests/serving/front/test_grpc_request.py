"""What a request may say: read in one way only, or refused. Each message is sent to a real HAProxy before a replica."""

import gzip
import tempfile
from contextlib import ExitStack

import grpc
import pytest
from lamr_model.spec import bundled_repository, load_spec
from lamr_serving.front.rendering import CLIENT_PARAMETERS, GRPC_REQUEST, SERVICE, TEMPLATES
from tritonclient.grpc import service_pb2 as pb

from tests.attack.front_callers import Caller
from tests.attack.odd_requests import FRAMES, INFERENCES, NAME, OTHERS, TWO_READINGS, frame, text

from .conftest import Replica, Site, inference


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """Sends the body of a call and returns the status and its words; and the replica behind the front."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMR_FRONT_DIR", stack.enter_context(tempfile.TemporaryDirectory(prefix="lamr-")))
        site = Site(tmp_path_factory.mktemp("front"), stack)
        site.replicas.append(stack.enter_context(Replica(load_spec(bundled_repository()))))
        site.write({"alice": ""})
        site.start()
        caller = Caller(("127.0.0.1", site.port), site.keys["alice"])

        def ask(call: str, body: bytes, *more: tuple[str, str]) -> tuple[int, str]:
            found = caller.ask(f"{SERVICE}{call}", body, *more)
            assert found["grpc-accept-encoding"] == "identity"
            return int(found["grpc-status"]), found["grpc-message"]

        yield ask, site.replicas[0]


def _status(code: grpc.StatusCode) -> int:
    return code.value[0]


INVALID = _status(grpc.StatusCode.INVALID_ARGUMENT)
DENIED = _status(grpc.StatusCode.PERMISSION_DENIED)


@pytest.mark.parametrize("call", ["ModelReady", "ModelMetadata", "ModelConfig", "ModelInfer"])
@pytest.mark.parametrize("name", TWO_READINGS)
def test_what_can_be_read_in_two_ways_is_refused(asking, call, name) -> None:
    ask, _ = asking
    status, words = ask(call, frame(TWO_READINGS[name]))
    assert status == INVALID, words
    assert words.startswith("the request can't be taken: ")
    assert len(words) > 30


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_are_refused(asking, name) -> None:
    ask, _ = asking
    for call in ("ModelReady", "ModelInfer"):
        assert ask(call, frame(OTHERS[name]))[0] == DENIED


@pytest.mark.parametrize("name", INFERENCES)
def test_an_inference_says_no_more_than_it_need(asking, name) -> None:
    ask, replica = asking
    before = len(replica.asked_with)
    status, words = ask("ModelInfer", frame(NAME + INFERENCES[name]))
    assert status == INVALID, words
    assert len(replica.asked_with) == before


@pytest.mark.parametrize("name", FRAMES)
def test_a_request_is_one_message(asking, name) -> None:
    ask, _ = asking
    assert ask("ModelReady", FRAMES[name])[0] == INVALID


def test_compression_is_refused_as_grpc_says_how(asking) -> None:
    ask, _ = asking
    packed = gzip.compress(NAME)
    for body, headers in (
        (frame(packed, 1), [("grpc-encoding", "gzip")]),
        (frame(packed, 1), []),
        (frame(packed, 1), [("grpc-encoding", "identity")]),
        (frame(NAME), [("grpc-encoding", "deflate")]),
        (frame(NAME), [("grpc-encoding", "identity"), ("grpc-encoding", "gzip")]),
        (frame(NAME), [("grpc-encoding", "identity, gzip")]),
        (frame(NAME), [("content-encoding", "gzip")]),
    ):
        status, words = ask("ModelInfer", body, *headers)
        assert status == _status(grpc.StatusCode.UNIMPLEMENTED), words
        assert "identity" in words
    assert ask("ModelReady", frame(NAME), ("grpc-encoding", "identity"))[0] == 0


def test_what_libraries_write_is_taken(asking) -> None:
    ask, replica = asking
    request = inference()
    request.model_version, request.id = "1", "an id"
    request.parameters["timeout"].int64_param = 1_000_000
    for name in CLIENT_PARAMETERS:
        if name != "timeout":
            request.parameters[name].string_param = replica.spec.fingerprint
    assert ask("ModelInfer", frame(request.SerializeToString()))[0] == 0
    assert ask("ServerLive", frame(pb.ServerLiveRequest().SerializeToString()))[0] == 0
    assert ask("ServerLive", frame(NAME))[0] == INVALID
    backwards = text(2, b"1") + NAME  # any order
    assert ask("ModelReady", frame(backwards))[0] == 0


def test_a_path_with_a_query_is_another_path(asking) -> None:
    ask, _ = asking
    for path in (
        "ModelReady?",
        "ModelReady?x=1",
        "ModelReady/",
        "modelReady",
        "ModelStreamInfer",
        "ModelReady%20",
    ):
        assert ask(path, frame(NAME))[0] == DENIED, path


def test_only_some_headers_reach_a_replica(asking) -> None:
    ask, replica = asking
    more = [
        ("x-secret", "a"),
        ("grpc-timeout", "1S"),
        ("grpc-trace-bin", "AA"),
        ("traceparent", "none"),
        ("a-bin", "!"),
    ]
    more += [("tracestate", "x=1"), ("grpc-internal-encoding-request", "gzip"), ("x", "y" * 12_000)]
    assert ask("ModelInfer", frame(inference().SerializeToString()), *more)[0] == 0
    seen = set(replica.asked_with[-1])
    assert seen <= {"user-agent", "tracestate", "lamr-fingerprint"}, seen
    assert replica.wire_deadlines[-1] is None


@pytest.mark.parametrize("name", ["user-agent", "tracestate", "host"])
def test_no_header_makes_a_replica_break_a_call_off(asking, name) -> None:
    ask, _ = asking
    assert ask("ModelReady", frame(NAME), (name, "x" * 9_000))[0] == 0


def test_the_messages_are_tritons() -> None:
    """The numbers in the program are those of Triton's own definitions."""
    program = (TEMPLATES / GRPC_REQUEST).read_text(encoding="utf-8")
    assert "[tag(7, BYTES)] = often, -- raw contents" in program
    fields = {each.name: each.number for each in pb.ModelInferRequest.DESCRIPTOR.fields}
    names = ("model_name", "model_version", "id", "parameters", "inputs", "outputs", "raw_input_contents")
    assert fields == {name: number for number, name in enumerate(names, 1)}
    tensor = {each.name: each.number for each in pb.ModelInferRequest.InferInputTensor.DESCRIPTOR.fields}
    assert tensor == {"name": 1, "datatype": 2, "shape": 3, "parameters": 4, "contents": 5}
    for message in (pb.ModelReadyRequest, pb.ModelMetadataRequest, pb.ModelConfigRequest):
        assert [(each.name, each.number) for each in message.DESCRIPTOR.fields] == [
            ("name", 1),
            ("version", 2),
        ]
