"""Calls to a server's gRPC port that are closed, malformed or far too large."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from tests.attack.case import Case
from tests.attack.machine_http import sent
from tests.attack.place import Place
from tests.attack.served import SAME, shared

TENSORS = {"input_ids": ([1, 8], "INT64", [1] * 8), "document_span": ([1, 2], "INT32", [2, 6])}
RESTRICTED = r"StatusCode\.UNAVAILABLE This protocol is restricted.*" + SAME
ANSWERED = "(StatusCode|DONE).*" + SAME
REFUSED = "StatusCode.*" + SAME
RESTARTED = "(StatusCode|DONE).*; answers; (the same|another) server"
MODEL = {"config": '{"backend":"python"}', "files": {"file:1/model.py": b"import os"}}
CAPITALS = {"TRITON-GRPC-PROTOCOL-LAMR-CLOSED": "x"}
FILE = "/tmp/lamr-attack"


def grpc_call(ask: Callable[[Any], object], headers: dict[str, str] | None = None) -> Callable[[Place], str]:
    """What a call of Triton's client is answered with."""

    def attempt(_: Place) -> str:
        server = shared()
        pid = server.triton.pid
        with triton.InferenceServerClient(server.grpc) as client:
            client_call = partial(ask, client) if headers is None else partial(ask, client, headers=headers)
            try:
                said = f"DONE {client_call()}"[:80]
            except InferenceServerException as error:
                said = f"{error.status()} {error.message()}"
            except Exception as error:  # the client refuses to send it
                said = f"not sent {error}"
        return f"{said[:120]}; {server.after(pid)}"

    return attempt


def raw_infer(change: Callable[[Any], None]) -> Callable[[Place], str]:
    """What an inference is answered with whose message was changed."""

    def ask(client: Any) -> object:
        request = service_pb2.ModelInferRequest(model_name="lamr")
        for name, (shape, kind, values) in TENSORS.items():
            request.inputs.add(name=name, shape=shape, datatype=kind)
            request.raw_input_contents.append(np.array(values, kind.lower()).tobytes())
        change(request)
        try:
            return client._client_stub.ModelInfer(request, timeout=20).model_name
        except Exception as error:
            raise InferenceServerException(str(error.details()), str(error.code())) from None

    return grpc_call(ask)


def with_the_key_of_the_command_line(place: Place) -> str:
    """Whoever may read the server's command line sends the closed key without its line break."""
    line = next(a for a in shared().triton.cmdline() if a.startswith("--grpc-restricted-protocol"))
    name, _, key = line.partition(":")[2].rpartition(":")[2].partition("=")
    headers = {f"triton-grpc-protocol-{name}": key.strip(), name: key.strip()}
    return grpc_call(lambda client, headers: client.get_model_repository_index(headers=headers), headers)(
        place
    )


def _shared_memory_input(request: Any) -> None:
    request.inputs[0].parameters["shared_memory_region"].string_param = "lamr-serving"
    request.inputs[0].parameters["shared_memory_byte_size"].int64_param = 64
    del request.raw_input_contents[0]


def _shape(*dims: int) -> Callable[[Any], None]:
    def change(request: Any) -> None:
        request.inputs[0].shape[:] = dims

    return change


def _outputs(count: int) -> Callable[[Any], None]:
    def change(request: Any) -> None:
        for _ in range(count):
            request.outputs.add(name="keep")

    return change


def _set(name: str, value: str) -> Callable[[Any], None]:
    return lambda request: setattr(request, name, value)


def _parameter(name: str, value: Any) -> Callable[[Any], None]:
    def change(request: Any) -> None:
        kind = {bool: "bool_param", int: "int64_param", str: "string_param"}[type(value)]
        setattr(request.parameters[name], kind, value)

    return change


def _classification(request: Any) -> None:
    request.outputs.add(name="keep_prob").parameters["classification"].int64_param = 2**62


def no_protocol(_: Place) -> str:
    server = shared()
    pid = server.triton.pid
    return f"{sent(server.grpc, bytes(range(256)) * 4000, 5)}; {server.after(pid)}"


_case = partial(Case, "grpc")
CLOSED: dict[str, Callable[[Any], object]] = {
    "register system shared memory": lambda c: c.register_system_shared_memory("x", "/x", 64),
    "register CUDA shared memory": lambda c: c.register_cuda_shared_memory("x", b"x" * 64, 0, 64),
    "unregister shared memory": lambda c: c.unregister_system_shared_memory(),
    "the state of shared memory": lambda c: c.get_system_shared_memory_status(),
    "load a model with files of its own": lambda c: c.load_model("x", **MODEL),
    "load a model by a path": lambda c: c.load_model("../../tmp"),
    "unload a model": lambda c: c.unload_model("lamr"),
    "list the models": lambda c: c.get_model_repository_index(),
    "set the log's file": lambda c: c.update_log_settings({"log_file": FILE}),
    "set the trace's file": lambda c: c.update_trace_settings(settings={"trace_file": FILE}),
    "set a model's trace": lambda c: c.update_trace_settings("lamr", {"trace_level": ["TENSORS"]}),
}
CASES = (
    *(_case(name, grpc_call(ask), RESTRICTED) for name, ask in CLOSED.items()),
    _case("the key of the command line", with_the_key_of_the_command_line, RESTRICTED),
    _case(
        "a closed key's name in capitals",
        grpc_call(lambda c, headers: c.unload_model("lamr", headers=headers), CAPITALS),
        ".*(restricted|Invalid metadata).*" + SAME,
    ),
    _case(
        "a megabyte of metadata",
        grpc_call(lambda c, headers: c.is_server_live(headers=headers), {"x": "y" * (1 << 20)}),
        REFUSED,
    ),
    _case(
        "an input in shared memory",
        raw_infer(_shared_memory_input),
        "StatusCode.(INVALID_ARGUMENT|NOT_FOUND).*" + SAME,
    ),
    _case("a model by a path", raw_infer(_set("model_name", "../../etc/passwd")), REFUSED),
    _case("a model with a NUL", raw_infer(_set("model_name", "lamr\0x")), ANSWERED),
    _case("version -1", raw_infer(_set("model_version", "-1")), ANSWERED),
    _case("a version of letters", raw_infer(_set("model_version", "1;x")), ANSWERED),
    _case("a negative shape", raw_infer(_shape(1, -8)), REFUSED),
    _case("a shape that is larger than its bytes", raw_infer(_shape(1, 2**40)), RESTARTED, 30),
    _case("a shape that overflows", raw_infer(_shape(1, 2**61)), RESTARTED, 30),
    _case("a shape of many dimensions", raw_infer(_shape(*[1] * 100_000)), REFUSED),
    _case("100,000 outputs of one name", raw_infer(_outputs(100_000)), ANSWERED, 20),
    _case("a classification of 2^62", raw_infer(_classification), RESTARTED, 30),
    _case(
        "a parameter of Triton's own",
        raw_infer(_parameter("triton_enable_empty_final_response", True)),
        ANSWERED,
    ),
    _case("a sequence", raw_infer(_parameter("sequence_id", 2**62)), ANSWERED),
    _case("a priority", raw_infer(_parameter("priority", 2**62)), ANSWERED),
    _case("a megabyte as request id", raw_infer(_set("id", "x" * (1 << 20))), ANSWERED),
    _case("no protocol at all", no_protocol, ".*" + SAME),
)
