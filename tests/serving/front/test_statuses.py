"""What the front answers to whom: a refusal is a gRPC status that says why, and what is refused reaches no replica."""

import datetime
import http.client
import itertools
import socket
import time
from functools import partial

import grpc
import pytest
from lamr_base.admission import seconds_to_wait
from tritonclient.grpc import service_pb2 as pb

from .conftest import inference, stub_of

MOST_PATH_BYTES = 1000
ADMINISTRATION = {
    "RepositoryIndex": pb.RepositoryIndexRequest(),
    "RepositoryModelLoad": pb.RepositoryModelLoadRequest(model_name="lamr"),
    "RepositoryModelUnload": pb.RepositoryModelUnloadRequest(model_name="lamr"),
    "SystemSharedMemoryStatus": pb.SystemSharedMemoryStatusRequest(),
    "SystemSharedMemoryRegister": pb.SystemSharedMemoryRegisterRequest(name="x", key="/x", byte_size=1),
    "SystemSharedMemoryUnregister": pb.SystemSharedMemoryUnregisterRequest(name="x"),
    "CudaSharedMemoryStatus": pb.CudaSharedMemoryStatusRequest(),
    "CudaSharedMemoryRegister": pb.CudaSharedMemoryRegisterRequest(name="x"),
    "TraceSetting": pb.TraceSettingRequest(),
    "LogSettings": pb.LogSettingsRequest(),
    "ModelStatistics": pb.ModelStatisticsRequest(),
}
OVER_HTTP = [
    "/v2/repository/index",
    "/v2/repository/models/lamr/unload",
    "/v2/systemsharedmemory/status",
    "/v2/trace/setting",
    "/v2/logging",
    "/v2/models/lamr/infer",
    "/v2/health/ready",
    "/",
]
DAY = 86_400
DAILY = f"quota_seconds = {DAY}"


def refusal(call) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as error:
        call()
    return error.value


@pytest.fixture
def open_site(site, replica):
    site.write({"alice": "", "bob": ""})
    site.start()
    return site


def test_who_may_ask_and_what(open_site, replica) -> None:
    stub, alice = stub_of(open_site.channel()), open_site.metadata("alice")

    answer = stub.ModelInfer(inference(), metadata=alice)
    assert {output.name for output in answer.outputs} == {"keep", "keep_prob", "relevance"}
    assert stub.ServerLive(pb.ServerLiveRequest(), metadata=alice).live
    assert stub.ModelReady(pb.ModelReadyRequest(name="lamr"), metadata=alice).ready
    assert stub.ModelConfig(pb.ModelConfigRequest(name="lamr"), metadata=alice).config.name == "lamr"

    for metadata in (
        [],
        [("authorization", "Bearer lamr_wrong")],
        [("authorization", "Bearer ")],
        [("authorization", "x")],
    ):
        error = refusal(lambda metadata=metadata: stub.ModelInfer(inference(), metadata=metadata))
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        assert "API key" in error.details()
    error = refusal(lambda: stub.ModelInfer(inference("lamr_encoder"), metadata=alice))
    assert error.code() is grpc.StatusCode.PERMISSION_DENIED
    assert "alice may not use the model" in error.details()
    error = refusal(lambda: stub.ModelConfig(pb.ModelConfigRequest(name="other"), metadata=alice))
    assert error.code() is grpc.StatusCode.PERMISSION_DENIED
    error = refusal(lambda: stub.ModelInfer(inference(tokens=20_000), metadata=alice))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "60000 bytes are allowed" in error.details()

    assert len(replica.asked_with) == 1  # nothing that was refused
    assert "authorization" not in replica.asked_with[0]  # nor any key


def test_administration_and_http_are_refused(open_site) -> None:
    stub, alice = stub_of(open_site.channel()), open_site.metadata("alice")
    for name, request in ADMINISTRATION.items():
        error = refusal(lambda name=name, request=request: getattr(stub, name)(request, metadata=alice))
        assert error.code() is grpc.StatusCode.PERMISSION_DENIED, name
        assert error.details() == "this call isn't for clients"
    for method, path in itertools.product(("GET", "POST"), OVER_HTTP):
        connection = http.client.HTTPConnection("127.0.0.1", open_site.port, timeout=10)
        connection.request(method, path, headers=dict(open_site.metadata("alice")))
        assert connection.getresponse().status == 415, path
        connection.close()


def test_a_key_may_expire(site, replica) -> None:
    now = datetime.datetime.now(datetime.timezone.utc)
    site.write({"early": "", "late": ""})
    text = site.file.read_text()
    early, late = (f"{text.split('hash = ')[i].splitlines()[0]}" for i in (1, 2))
    text = text.replace(early, f"{early}\nexpires = {(now - datetime.timedelta(seconds=5)).isoformat()}")
    text = text.replace(late, f"{late}\nexpires = {(now + datetime.timedelta(days=1)).isoformat()}")
    site.file.write_text(text)
    site.start()
    stub = stub_of(site.channel())
    stub.ModelInfer(inference(), metadata=site.metadata("late"))
    error = refusal(lambda: stub.ModelInfer(inference(), metadata=site.metadata("early")))
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    assert "expired" in error.details()


def test_quotas_say_which_and_when_to_come_back(site, replica) -> None:
    limits = {"few": "requests = 3", "small": "bytes = 400"}
    site.write({name: f"limits = {{ {limit} }}" for name, limit in limits.items()} | {"free": ""}, DAILY)
    site.start()
    stub = stub_of(site.channel())
    for _ in range(3):
        stub.ModelInfer(inference(), metadata=site.metadata("few"))
    error = refusal(lambda: stub.ModelInfer(inference(), metadata=site.metadata("few")))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "tenant few: 3 requests in 86400 s" in error.details()
    assert abs(seconds_to_wait(error.details()) - (DAY - time.time() % DAY)) < 60
    stub.ModelInfer(inference(tokens=60), metadata=site.metadata("small"))
    error = refusal(lambda: stub.ModelInfer(inference(), metadata=site.metadata("small")))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "tenant small: 400 bytes in 86400 s" in error.details()
    for _ in range(8):
        stub.ModelInfer(inference(), metadata=site.metadata("free"))


def test_a_quota_is_whole_again_when_the_refusal_said(site, replica) -> None:
    site.write({"alice": "limits = { requests = 1 }"}, settings="quota_seconds = 1")
    site.start()
    stub = stub_of(site.channel())
    refused = None
    for _ in range(200):  # two within one second are too many
        try:
            stub.ModelInfer(inference(), metadata=site.metadata("alice"))
        except grpc.RpcError as error:
            refused = error
            break
    assert seconds_to_wait(refused.details()) == 1
    time.sleep(1)
    stub.ModelInfer(inference(), metadata=site.metadata("alice"))


def test_a_tenant_has_so_many_requests_at_once(site, replica) -> None:
    site.write({"alice": "limits = { concurrent = 2 }", "bob": ""})
    site.start()
    stub = stub_of(site.channel())
    replica.hold.clear()
    calls = [stub.ModelInfer.future(inference(), metadata=site.metadata("alice")) for _ in range(2)]
    site.until(lambda: len(replica.asked_with) == 2)
    error = refusal(lambda: stub.ModelInfer(inference(), metadata=site.metadata("alice")))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "tenant alice: 2 requests at once" in error.details()
    assert seconds_to_wait(error.details()) == 1
    calls.append(stub.ModelInfer.future(inference(), metadata=site.metadata("bob")))
    site.until(lambda: len(replica.asked_with) == 3)
    replica.hold.set()
    assert all(call.result(10) for call in calls)


def test_no_replica_is_unavailable(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    stub = stub_of(site.channel())
    for readiness in (False, None):  # Triton says that the model isn't ready, or fails to say
        replica.ready = readiness
        site.until(lambda: "down" in str(control_state(site)))
        error = refusal(lambda: stub.ModelInfer(inference(), metadata=site.metadata("alice")))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert error.details() == "no replica is ready"
        replica.ready = True
        site.until(lambda: control_state(site) == "up")
    stub.ModelInfer(inference(), metadata=site.metadata("alice"))


def test_a_wait_has_an_end(site, replica) -> None:
    site.write({"alice": "window = 1"}, settings="queue_seconds = 1\nanswer_seconds = 2")
    site.start()
    stub = stub_of(site.channel())
    replica.hold.clear()
    first = stub.ModelInfer.future(inference(), metadata=site.metadata("alice"))
    site.until(lambda: bool(replica.asked_with))
    error = refusal(lambda: stub.ModelInfer(inference(), metadata=site.metadata("alice")))
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert "queue" in error.details()
    assert first.exception(20).code() is grpc.StatusCode.DEADLINE_EXCEEDED


def control_state(site) -> str:
    from lamr_serving.front.control import read_status

    return read_status(site.file).replicas[0].state


def test_the_log_has_what_operators_need_and_nothing_that_is_secret(open_site) -> None:
    stub, alice = stub_of(open_site.channel()), open_site.metadata("alice")
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    planted = inference()
    planted.id = "planted-query-and-code"
    stub.ModelInfer(planted, metadata=[*alice, ("traceparent", trace)])
    refusal(
        lambda: stub.ModelInfer(inference("planted-model"), metadata=[*alice, ("traceparent", 'x"planted')])
    )
    refusal(lambda: stub.ModelInfer(inference(), metadata=[("authorization", "Bearer planted-key")]))
    open_site.until(lambda: len(open_site.logged()) >= 3)
    done, denied, stranger = open_site.logged()[-3:]
    assert (done["tenant"], done["replica"], done["trace"], done["http"]) == ("alice", "r0", trace, 200)
    assert done["bytes_in"] > 100
    assert done["queue_ms"] >= 0
    assert (denied["tenant"], denied["grpc"], denied["why"], denied["trace"]) == ("alice", "7", "model", "-")
    assert (stranger["tenant"], stranger["grpc"], stranger["why"]) == ("-", "16", "unauthenticated")
    text = open_site.log.read_text()
    assert "planted" not in text
    assert open_site.keys["alice"] not in text + open_site.report.getvalue()


ODD_PATHS = (
    b"/x" * 450,
    b'/"\\' * 9000,
    b"/\xc3\xa9" * 600,
    b"/" + b"\xff" * 2000,  # no UTF-8
    b"/" + b"\x01" * 2000,
    b"/%00\t",
)


def test_each_call_of_a_stranger_is_one_whole_line_of_the_log(site, replica) -> None:
    site.write({"a" * 48: ""})
    site.start()

    def calls_are_logged(path: bytes, lines: int) -> bool:
        for more in (b"Content-Type: application/grpc", b'User-Agent: "}' + b"x" * 20_000):
            with socket.create_connection(("127.0.0.1", site.port), timeout=20) as caller:
                caller.sendall(
                    b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" + more + b"\r\n\r\n"
                )
                assert caller.recv(4096).startswith(b"HTTP/1.1 ")
        time.sleep(0.1)
        return len(site.log.read_text(encoding="utf-8").splitlines()) >= lines

    for path in ODD_PATHS:
        wanted = len(site.log.read_bytes().splitlines()) + 2
        site.until(partial(calls_are_logged, path, wanted))  # a busy machine may lose a line
    for line in site.logged():
        assert list(line)[-1] == "trace"
        assert line["http"] in (200, 400, 415)
        assert len(line["path"].encode()) <= MOST_PATH_BYTES


def test_a_tenants_call_with_a_long_path_is_one_whole_line_of_the_log(site, replica) -> None:
    name = "a" * 48
    site.write({name: ""})
    site.start()
    call = site.channel().unary_unary("/" + "x" * 3000)
    error = refusal(lambda: call(b"", metadata=site.metadata(name)))
    assert error.code() is grpc.StatusCode.PERMISSION_DENIED
    site.until(lambda: bool(site.logged()))
    (line,) = site.logged()
    assert (line["tenant"], line["why"], line["grpc"]) == (name, "forbidden", "7")
    assert line["path"] == ("/" + "x" * 3000)[:MOST_PATH_BYTES]
    assert line["bytes_in"] > 0
