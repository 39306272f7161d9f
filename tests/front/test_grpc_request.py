"""What a request may say: read in one way only, or refused. Each message is sent to a real HAProxy before a replica."""

from __future__ import annotations

import gzip

import grpc
import pytest
from lamr_front.rendering import CLIENT_PARAMETERS
from tritonclient.grpc import service_pb2 as pb

from .conftest import Site, inference

SERVICE = "/inference.GRPCInferenceService/"
OTHER = b"lamr_encoder"


def text(number: int, value: bytes) -> bytes:
    """A field of text or of a message, as protobuf writes it."""
    assert number < 16
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def frame(message: bytes, flag: int = 0, size: int | None = None) -> bytes:
    return bytes([flag]) + (len(message) if size is None else size).to_bytes(4, "big") + message


NAME = text(1, b"lamr")
INPUT = text(1, b"input_ids") + text(2, b"INT64")
REGION = text(4, text(1, b"shared_memory_region") + text(2, text(3, b"x")))

# What no name is found in, though Triton finds one: refused as INVALID_ARGUMENT. Field 15 is unknown to all.
TWO_READINGS = {
    "two names": NAME + text(1, OTHER),
    "two names, the right one last": text(1, OTHER) + NAME,
    "the same name twice": NAME + NAME,
    "an empty name, then another": text(1, b"") + text(1, OTHER),
    "no name": b"",
    "an empty name": text(1, b""),
    "a version alone": text(2, b"1"),
    "a tag of two bytes": b"\x8a\x00" + NAME[1:],
    "a tag of five bytes": b"\x8a\x80\x80\x80\x00" + NAME[1:],
    "a length of two bytes": b"\x0a\x84\x00lamr",
    "a length of ten bytes": b"\x0a\x84\x80\x80\x80\x80\x80\x80\x80\x80\x00lamr",
    "a length beyond the end": b"\x0a\x7flamr",
    "a length of 4 GB": b"\x0a\xff\xff\xff\xff\x0flamr",
    "a length that wraps": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01lamr",
    "a tag cut off": NAME + b"\x12",
    "a name as a number": b"\x08\x01" + NAME,
    "a name as 32 bits": b"\x0d\0\0\0\0" + NAME,
    "a name as 64 bits": b"\x09" + bytes(8) + NAME,
    "a group before": b"\x1b\x1c" + NAME,
    "a group with the name": b"\x1b" + NAME + b"\x1c",
    "the end of a group": b"\x0c" + NAME,
    "field 0": b"\x02\x00" + NAME,
    "wire type 6": b"\x0e" + NAME,
    "wire type 7": b"\x0f" + NAME,
    "an unknown field before": text(15, b"x") + NAME,
    "an unknown field behind": NAME + text(15, b"x"),
    "field 16": b"\x82\x01\x00" + NAME,
    "field 2^29-1": b"\xfa\xff\xff\xff\x0f\x00" + NAME,
    "32 bits before": b"\x25\0\0\0\0" + NAME,
    "two versions": NAME + text(2, b"1") + text(2, b"2"),
    "a NUL behind the name": text(1, b"lamr\0"),
    "a NUL and more": text(1, b"lamr\0_encoder"),
    "a line end": text(1, b"lamr\n"),
    "a space": text(1, b"lamr "),
    "UTF-16": text(1, "lamr".encode("utf-16")),
    "no UTF-8": text(1, b"lamr\xff"),
    "a path": text(1, b"../lamr"),
    "a dash": text(1, b"-"),
    "an exclamation mark": text(1, b"!lamr"),
    "a long name": b"\x0a\xe8\x07" + b"a" * 1000,
}
# Names that are read, and may not be used: PERMISSION_DENIED.
OTHERS = {
    "another model": text(1, OTHER),
    "upper case": text(1, b"LAMR"),
    "a part of the name": text(1, b"lam"),
    "more than the name": text(1, b"lamr.1"),
    "another model behind its version": text(2, b"1") + text(1, OTHER),
}
# Messages of an inference that hold what no client may send, or what no reader should have to count.
INFERENCES = {
    "shared memory of an input": text(5, INPUT + REGION),
    "shared memory of an output": text(6, text(1, b"keep") + text(2, REGION[2:])),
    "an unknown field of an input": text(5, INPUT + text(6, b"x")),
    "a group in an input": text(5, INPUT + b"\x33\x34"),
    "an input's name twice": text(5, INPUT + text(1, b"x")),
    "a sequence": text(4, text(1, b"sequence_id") + text(2, b"\x10\x01")),
    "a priority": text(4, text(1, b"priority") + text(2, b"\x10\x01")),
    "a parameter of Triton's own": text(4, text(1, b"triton_enable_empty_final_response") + text(2, b"\x08\x01")),
    "a parameter whose name stands twice": text(4, text(1, b"timeout") + text(1, b"priority")),
    "a parameter without a name": text(4, text(2, b"\x08\x01")),
    "a negative shape": text(5, INPUT + b"\x18" + b"\xff" * 9 + b"\x01"),
    "a shape of 2^61": text(5, INPUT + text(3, b"\x01" + b"\x80" * 8 + b"\x20")),
    "a shape whose product overflows": text(5, INPUT + text(3, b"\xff\xff\xff\x7f" * 5)),
    "a shape with a zero that hides it": text(5, INPUT + text(3, b"\xff\xff\xff\x7f" * 3 + b"\x00")),
    "a shape number by number": text(5, INPUT + b"\x18\xff\xff\x7f"),
    "a shape cut off": text(5, INPUT + text(3, b"\x80")),
    "more fields than 1,000": text(7, b"") * 1001,
    "more dimensions than 1,000": text(5, text(3, b"\x01" * 100)) * 11,
}  # fmt: skip
FRAMES = {
    "no message": b"",
    "four bytes": b"\0\0\0\0",
    "a message and a byte": frame(NAME) + b"\0",
    "two messages": frame(NAME) * 2,
    "an empty message first": frame(b"") + frame(NAME),
    "a length too small": frame(NAME, size=2),
    "a length too large": frame(NAME, size=7),
    "a length of 4 GB": frame(NAME, size=(1 << 32) - 1),
    **{f"flag {flag}": frame(NAME, flag) for flag in (2, 3, 128, 255)},
}


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """Sends the body of a call and returns the status and its words."""
    import tempfile
    from contextlib import ExitStack

    import h2.config
    import h2.connection
    import h2.events
    from lamr_contract.spec import bundled_repository, load_spec

    from .conftest import Replica

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMR_FRONT_DIR", stack.enter_context(tempfile.TemporaryDirectory(prefix="lamr-")))
        site = Site(tmp_path_factory.mktemp("front"), stack)
        site.replicas.append(stack.enter_context(Replica(load_spec(bundled_repository()))))
        site.write({"alice": ""})
        site.start()
        yield lambda call, body, *more: _ask(site, call, body, more), site.replicas[0]


def _ask(site: Site, call: str, body: bytes, more) -> tuple[int, str]:
    import socket

    import h2.config
    import h2.connection
    import h2.events

    caller = h2.connection.H2Connection(h2.config.H2Configuration(validate_outbound_headers=False))
    caller.initiate_connection()
    head = {":method": "POST", ":scheme": "http", ":authority": "x", ":path": f"{SERVICE}{call}"}
    head |= {"content-type": "application/grpc", "te": "trailers"}
    caller.send_headers(1, [*head.items(), *site.metadata("alice"), *more])
    caller.send_data(1, body, end_stream=True)
    found: dict[bytes, bytes] = {}
    with socket.create_connection(("127.0.0.1", site.port), timeout=20) as connection:
        connection.sendall(caller.data_to_send())
        while b"grpc-status" not in found:
            data = connection.recv(1 << 16)
            assert data, found
            for event in caller.receive_data(data):
                if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
                    found |= dict(event.headers)
    assert found[b"grpc-accept-encoding"] == b"identity"
    return int(found[b"grpc-status"]), found[b"grpc-message"].decode()


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
    ask, replica = asking
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
    for path in ("ModelReady?", "ModelReady?x=1", "ModelReady/", "modelReady", "ModelStreamInfer", "ModelReady%20"):
        assert ask(path, frame(NAME))[0] == DENIED, path


def test_only_some_headers_reach_a_replica(asking) -> None:
    ask, replica = asking
    more = [("x-secret", "a"), ("grpc-timeout", "1S"), ("grpc-trace-bin", "AA"), ("traceparent", "none"), ("a-bin", "!")]
    more += [("tracestate", "x=1"), ("grpc-internal-encoding-request", "gzip"), ("x", "y" * 12_000)]
    assert ask("ModelInfer", frame(inference().SerializeToString()), *more)[0] == 0
    seen = set(replica.asked_with[-1])
    assert seen <= {"user-agent", "tracestate", "lamr-fingerprint"}, seen
    assert replica.wire_deadlines[-1] is None


def test_the_messages_are_tritons() -> None:
    """The numbers in the program are those of Triton's own definitions."""
    from lamr_front.rendering import GRPC_REQUEST, TEMPLATES

    program = (TEMPLATES / GRPC_REQUEST).read_text(encoding="utf-8")
    assert "[tag(7, BYTES)] = often, -- raw contents" in program
    fields = {each.name: each.number for each in pb.ModelInferRequest.DESCRIPTOR.fields}
    assert fields == {
        "model_name": 1, "model_version": 2, "id": 3, "parameters": 4, "inputs": 5, "outputs": 6, "raw_input_contents": 7,
    }  # fmt: skip
    tensor = {each.name: each.number for each in pb.ModelInferRequest.InferInputTensor.DESCRIPTOR.fields}
    assert tensor == {"name": 1, "datatype": 2, "shape": 3, "parameters": 4, "contents": 5}
    for message in (pb.ModelReadyRequest, pb.ModelMetadataRequest, pb.ModelConfigRequest):
        assert [(each.name, each.number) for each in message.DESCRIPTOR.fields] == [("name", 1), ("version", 2)]
