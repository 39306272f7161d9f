"""The real server on a tiny repository: batches, errors, and every way to end."""

import contextlib
import dataclasses
import io
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import lamr_base
import lamr_model
import lamr_serving
import numpy as np
import psutil
import pytest
import tritonclient.grpc as triton
from lamr_model.crf import Decoder, DecoderWeights
from lamr_serving import ServerOptions, ServerStartError, TritonServer, server_status
from lamr_serving.engines import engine_for
from lamr_serving.launcher import server, workspace
from lamr_serving.launcher.process import Witness
from lamr_serving.launcher.supervisor import SHARED_MEMORY
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from tests.counted import MODELS, counted
from tests.processes import all_end, below, commanded, eventually

pytestmark = [pytest.mark.server, pytest.mark.timeout(120)]

OPTIONS = ServerOptions(startup_timeout=60)
MARK = f"lamr-test-{secrets.token_hex(4)}-"  # other servers may run on this machine


@pytest.fixture(scope="module", autouse=True)
def marked():
    """All traces of this module's servers carry a mark of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "PREFIX", MARK)
        yield


@pytest.fixture(scope="module")
def repository(make_shared_repository):
    return make_shared_repository(delay=20_000)  # a client on a busy machine sends slowly


@pytest.fixture(scope="module")
def running(repository):
    with TritonServer(repository.root, OPTIONS) as started:
        yield started


@pytest.fixture(scope="module")
def client(running):
    with triton.InferenceServerClient(running.addresses.grpc) as connected:
        yield connected


@pytest.fixture(scope="module")
def alone(repository, expected_encoder):
    """A function that computes one chunk without a server, and gives what is decoded and the relevance."""
    decoder = Decoder(DecoderWeights.load(repository.root / "lamr_decoder" / "1" / "decoder.npz"))

    def compute(ids, span):
        fused, relevance = expected_encoder(repository.table, np.asarray(ids))
        return decoder.decode(fused[span[0] : span[1]], [0, span[1] - span[0]], want_rubrics=True), relevance

    return compute


def inputs(ids, span):
    tensors = []
    for name, array in (
        ("input_ids", np.array([ids], np.int64)),
        ("document_span", np.array([span], np.int32)),
    ):
        tensors.append(triton.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype)))
        tensors[-1].set_data_from_numpy(array)
    return tensors


def outputs(*names):
    return [triton.InferRequestedOutput(name) for name in names]


def infer(client, ids, span=None, names=("keep", "keep_prob", "relevance")):
    result = client.infer("lamr", inputs(ids, span or (0, len(ids))), outputs=outputs(*names))
    return {name: result.as_numpy(name) for name in names}


def infer_together(client, requests):
    """Send all requests at once; the results or exceptions, in their order."""
    results = [None] * len(requests)
    left, names = threading.Semaphore(0), ("keep", "keep_prob", "rubric_prob", "relevance")

    def done(index, result, error):
        results[index] = error or {name: result.as_numpy(name) for name in names}
        left.release()

    for index, (ids, span) in enumerate(requests):
        client.async_infer(
            "lamr",
            inputs(ids, span),
            outputs=outputs(*names),
            callback=lambda result, error, index=index: done(index, result, error),
        )
    for _ in requests:
        assert left.acquire(timeout=60)
    return results


def traces():
    """Folders and shared memory of this module's servers."""
    shared = {path.name for path in SHARED_MEMORY.glob(f"{MARK}*")}
    folders = {path.name for parent in workspace._parents() for path in parent.glob(f"{MARK}*")}
    return shared | folders


def test_says_what_it_serves(running, repository):
    info = running.info
    assert (info.name, info.version) == ("triton", "2.51.0")
    assert {(model.name, model.state) for model in info.models} == {
        ("lamr", "READY"),
        ("lamr_encoder", "READY"),
        ("lamr_decoder", "READY"),
    }
    for part in ("triton 2.51.0", "tiny 0.0.1", repository.spec.fingerprint, running.addresses.grpc):
        assert part in str(info)


def test_one_request_through_encoder_and_decoder(client, alone):
    ids = np.arange(40) % 50
    got = infer(client, ids, (5, 30), names=("keep", "keep_prob", "relevance", "rubric_prob", "gate"))
    expected, relevance = alone(ids, (5, 30))
    np.testing.assert_array_equal(got["keep"], expected.keep[None])
    for name in ("keep_prob", "rubric_prob", "gate"):
        np.testing.assert_allclose(got[name], getattr(expected, name)[None], atol=1e-5)
    np.testing.assert_allclose(got["relevance"], [[relevance]], atol=1e-6)


def test_64_concurrent_requests_equal_one_by_one_and_share_runs(running, client, alone):
    rng = np.random.default_rng(3)
    requests = []
    for _ in range(64):
        ids = rng.integers(0, 50, rng.integers(2, 500))
        start = int(rng.integers(0, len(ids) - 1))
        requests.append((ids, (start, int(rng.integers(start + 1, len(ids) + 1)))))
    before = counted(running.addresses.grpc)
    together = infer_together(client, requests)
    after = counted(running.addresses.grpc, before, 64)
    for request, result in zip(requests, together, strict=True):
        expected, relevance = alone(*request)
        np.testing.assert_array_equal(result["keep"], expected.keep[None])
        for name in ("keep_prob", "rubric_prob"):
            np.testing.assert_allclose(result[name], getattr(expected, name)[None], atol=1e-5)
        np.testing.assert_allclose(result["relevance"], [[relevance]], atol=1e-5)
    for model in MODELS:
        assert after[model].requests - before[model].requests == 64
        assert after[model].failures == 0
        assert 64 / (after[model].executions - before[model].executions) > 1.5, model


@pytest.mark.parametrize(
    ("ids", "span", "message"),
    [
        ([], (0, 0), "input_ids is empty"),
        ([1, 2, 3], (0, 4), "document_span"),
        ([1, 2, 3], (2, 2), "document_span"),
        ([1, 50_000, 3], (0, 3), "the model failed"),
    ],
)
def test_a_bad_request_fails_alone(client, alone, ids, span, message):
    good = [(np.arange(length) % 50, (0, length)) for length in range(1, 12)]
    results = infer_together(client, [*good[:5], (np.array(ids, np.int64), span), *good[5:]])
    bad = results.pop(5)
    assert isinstance(bad, InferenceServerException)
    assert message in bad.message()
    for request, result in zip(good, results, strict=True):
        np.testing.assert_allclose(result["keep_prob"], alone(*request)[0].keep_prob[None], atol=1e-5)


def test_status(running, repository, client):
    infer(client, [1, 2, 3])
    status = server_status(running.addresses.grpc)
    assert (status.live, status.ready, status.server, status.server_version) == (
        True,
        True,
        "triton",
        "2.51.0",
    )
    assert (status.model, status.model_version) == ("tiny", "0.0.1")
    assert (status.fingerprint, status.provider, status.precision) == (
        repository.spec.fingerprint,
        "CPU",
        "fp32",
    )
    encoder = next(model for model in status.models if model.name == "lamr_encoder")
    assert encoder.state == "READY"
    assert encoder.requests >= encoder.executions > 0
    assert encoder.mean_batch >= 1
    assert encoder.compute_ms > 0


def test_a_second_server_runs_beside_the_first_and_leaves_nothing(running, client, make_repository):
    before = traces()
    other = make_repository(
        folder="my models; $HOME 'quoted'", name="other"
    )  # a path that a shell would trip over
    with TritonServer(other.root, dataclasses.replace(OPTIONS, host="0.0.0.0")) as second:
        assert second.info.spec.name == "other"
        processes = [psutil.Process(second.pid), *below(second.pid)]
        assert len(processes) >= 3  # the server and two model processes
        assert traces() > before
        ports, addresses = listening(second.pid), second.addresses
        assert ports.keys() == {addresses.grpc_port, addresses.metrics_port}
        assert ports[addresses.metrics_port] == "127.0.0.1", "gRPC alone leaves loopback"
        assert ports[addresses.grpc_port] in ("0.0.0.0", "::")
        with triton.InferenceServerClient(second.addresses.grpc) as connected:
            infer(connected, [1, 2, 3])
        infer(client, [1, 2, 3])
    assert second.poll() == 0
    assert all_end(processes)
    assert traces() == before
    assert running.poll() is None


def test_a_port_that_was_taken_meanwhile_is_chosen_again(tiny, monkeypatch):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as squatter:
        port = squatter.getsockname()[1]
        choose = server.choose_addresses
        offered = []

        def choose_badly_once(options):
            chosen = choose(options)
            offered.append(chosen if offered else dataclasses.replace(chosen, grpc_port=port))
            return offered[-1]

        monkeypatch.setattr(server, "choose_addresses", choose_badly_once)
        with TritonServer(tiny.root, OPTIONS) as started:
            assert started.addresses == offered[1]
        assert len(offered) == 2


@pytest.fixture
def crashes(monkeypatch):
    """A function that lets the next servers of this process crash as soon as they are started, so many of them."""
    left = 0

    class Crashing(server.ServerProcess):
        def __init__(self, *arguments):
            nonlocal left
            super().__init__(*arguments)
            if left:
                left -= 1
                while not self.pid:
                    time.sleep(0.01)
                os.kill(self.pid, signal.SIGSEGV)

    def crash(times):
        nonlocal left
        left = times

    monkeypatch.setattr(server, "ServerProcess", Crashing)
    return crash


def test_a_server_that_crashes_while_it_starts_is_started_again(tiny, crashes):
    crashes(2)
    heard = []
    started = TritonServer(tiny.root, OPTIONS)
    started.start(witness=Witness(failed=heard.append))
    assert started.stop() == 0
    assert heard == [-signal.SIGSEGV] * 2


def test_a_server_that_always_crashes_is_given_up(tiny, crashes):
    crashes(9)
    assert "killed by SIGSEGV" in refusal(tiny)


NO_PROVIDER = (
    "(?s)OpenVINOExecutionProvider is not part of the.* onnxruntime.*pip install onnxruntime-openvino"
)


def refusal(repository, options=OPTIONS):
    before = traces()
    with pytest.raises(ServerStartError) as caught:
        TritonServer(repository.root, options).start()
    assert traces() == before
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "old", "new", "message"),
    [
        ("encoder", '"max_len"', '"longest"', "model.onnx takes ['cu_seqlens', 'input_ids', 'max_len']"),
        ("encoder", "instance_group", f"{engine_for('bf16').pbtxt()}\ninstance_group", NO_PROVIDER),
        ("decoder", "TYPE_UINT8 dims: [ -1 ]", "TYPE_UINT8 dims: [ 0 ]", "lamr_decoder"),
    ],
    ids=["other inputs", "no provider", "refused by Triton"],
)
def test_a_model_that_does_not_load_is_explained(tiny_copy, model, old, new, message):
    config = tiny_copy.root / f"lamr_{model}" / "config.pbtxt"
    config.write_text(config.read_text().replace(old, new))
    said = refusal(tiny_copy)
    assert re.search(message, said) or message in said
    assert "CudaDriverHelper" not in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startup_timeout": 0.05}, "were not ready within 0.05 s"),
        ({"extra_arguments": ("--nonsense=1",)}, "unrecognized option '--nonsense=1'"),
        ({"log_file": Path("/dev/null/log")}, "log file"),
    ],
)
def test_a_start_that_fails_is_explained(tiny, options, message):
    assert message in refusal(tiny, ServerOptions(**options))


class Serving:
    """`serve` in a process of its own, with only the given environment and packages."""

    def __init__(self, folder, repository, *arguments, site=None, env=None):
        self.report = folder / "report"
        code = (
            f"import sys; sys.path[:0] = {site or []!r}\n"
            "from pathlib import Path\n"
            "from lamr_serving import ServerOptions, serve\nfrom lamr_serving.launcher import workspace\n"
            f"workspace.PREFIX = {MARK!r}\n"
            f"sys.exit(serve(Path({str(repository)!r}), ServerOptions({', '.join(arguments)})))"
        )
        with self.report.open("wb") as report:
            self.process = subprocess.Popen([sys.executable, "-c", code], stderr=report, cwd=folder, env=env)
        eventually(lambda: "Stop with" in self.text() or self.process.poll() is not None, 60)
        self.children = below(self.process.pid)
        self.triton = triton_under(self.process.pid)

    def text(self):
        return self.report.read_text()

    def address(self):
        return next(line.split()[1] for line in self.text().splitlines() if line.strip().startswith("gRPC"))


@pytest.fixture
def serve(tiny, tmp_path):
    """A function that starts a `Serving`. At the end of the test nothing of any of them may exist."""
    before, started = traces(), []

    def begin(*arguments, **options):
        started.append(Serving(tmp_path, tiny.root, *arguments, **options))
        assert started[-1].triton is not None, started[-1].text()
        return started[-1]

    yield begin
    for serving in started:
        assert all_end(serving.children)
    assert traces() == before


def test_serve_stops_cleanly_when_interrupted(serve):
    serving = serve()
    serving.process.send_signal(signal.SIGINT)
    assert serving.process.wait(30) == 0
    assert "triton 2.51.0 serves tiny 0.0.1" in serving.text()
    assert serving.text().endswith("lamr: stopped\n")


def test_a_second_signal_does_not_wait(serve):
    serving = serve("stop_timeout=100")
    serving.triton.suspend()  # so that it can't stop by itself
    serving.process.send_signal(signal.SIGINT)
    assert eventually(lambda: "again to kill" in serving.text())
    assert serving.process.poll() is None
    serving.process.send_signal(signal.SIGINT)
    assert serving.process.wait(60) == 0


@pytest.mark.parametrize(
    ("victim", "still", "message"),
    [
        ("", False, "the server died (killed by SIGKILL)"),
        ("stub", False, "a model process has died"),
        ("lamr_encoder", True, "stood still for"),
        ("lamr_decoder", True, "stood still for"),
    ],
)
def test_serve_says_that_the_server_died_and_how(serve, victim, still, message):
    serving = serve()
    process = commanded(below(serving.triton.pid), victim)[0] if victim else serving.triton
    if still:  # Triton has given up its requests by then, and would hand its late answers to others
        process.suspend()
        time.sleep(1.2)
        process.resume()
    else:
        time.sleep(1.5)  # the supervisor looks every second
        process.kill()
    assert serving.process.wait(30) == 128 + signal.SIGKILL
    assert message in serving.text()


def test_a_server_that_dies_is_started_again_at_the_same_address(serve):
    serving = serve("restart=True")
    with triton.InferenceServerClient(serving.address()) as connected:
        infer(connected, [1, 2, 3])
        for of_server in (True, False):
            server = triton_under(serving.process.pid)
            victim = server if of_server else commanded(below(server.pid), "stub")[0]
            seen = serving.text().count("It is started again")
            victim.kill()
            assert eventually(lambda seen=seen: serving.text().count("It is started again") > seen, 60)
            assert answered(connected, [1, 2, 3])
    assert "the server died (killed by SIGKILL)" in serving.text()
    serving.children += below(serving.process.pid)
    serving.process.terminate()
    assert serving.process.wait(30) == 0


def triton_under(pid):
    """The server among the descendants of a process; None where there is none."""
    return next((child for child in below(pid) if child.name() == "tritonserver"), None)


def answered(client, ids, seconds=60):
    """Whether an inference succeeds within the time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(InferenceServerException):
            infer(client, ids)
            return True
        time.sleep(0.05)
    return False


def test_accepted_requests_are_answered_before_the_server_stops(make_repository):
    repository = make_repository(delay=1_500_000)  # requests wait that long for company
    results = []
    with TritonServer(repository.root, OPTIONS) as started:
        client = triton.InferenceServerClient(started.addresses.grpc)
        for _ in range(5):  # fewer than a batch
            client.async_infer("lamr", inputs([1, 2, 3], (0, 3)), lambda result, error: results.append(error))
        eventually(lambda: waiting(started) >= 5, 1)
        stopping = threading.Thread(target=started.stop)
        stopping.start()
        refused = None
        while refused is None and stopping.is_alive():
            try:
                client.get_model_config("lamr")
            except InferenceServerException as error:
                refused = error
        stopping.join()
        client.close()
    assert results == [None] * 5
    assert started.poll() == 0
    assert "no available versions" in refused.message()


def waiting(started):
    """How many requests wait for the encoder."""
    with urllib.request.urlopen(f"http://{started.addresses.metrics}/metrics") as answer:
        text = answer.read().decode()
    name = 'nv_inference_pending_request_count{model="lamr_encoder"'
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


STRANGERS = {
    "shared memory": lambda client: client.register_system_shared_memory("region", "/region", 64),
    "shared memory status": lambda client: client.get_system_shared_memory_status(),
    "logging": lambda client: client.update_log_settings({"log_verbose_level": 1}),
    "tracing": lambda client: client.get_trace_settings(),
    "unloading": lambda client: client.unload_model("lamr"),
    "index": lambda client: client.get_model_repository_index(),
}


@pytest.mark.parametrize("wish", STRANGERS)
def test_what_strangers_could_do_harm_with_is_closed(client, wish):
    with pytest.raises(InferenceServerException, match="protocol is restricted"):
        STRANGERS[wish](client)
    infer(client, [1, 2, 3])


def listening(pid):
    """The addresses at which a process listens, by their ports."""
    return {
        connection.laddr.port: connection.laddr.ip
        for connection in psutil.Process(pid).net_connections()
        if connection.status == psutil.CONN_LISTEN
    }


TRAPS = ("numpy", "random", "queue", "typing_extensions", "sitecustomize", "usercustomize", "json", "onnxruntime",
         "lamr_serving", "lamr_model", "triton_python_backend_utils", "struct", "zipimport")  # fmt: skip


def test_nothing_in_the_callers_folder_runs(tiny, tmp_path, monkeypatch):
    """A server that is started in a stranger's repository stands elsewhere, and so do its models' processes."""
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text("open(__file__ + '.sprung', 'w')\nraise ImportError('a trap')\n")
    monkeypatch.chdir(tmp_path)
    for variable in ("PYTHONPATH", "LD_LIBRARY_PATH", "PYTHONSTARTUP"):
        monkeypatch.setenv(variable, os.pathsep)
    with TritonServer(tiny.root, OPTIONS) as started:
        with triton.InferenceServerClient(started.addresses.grpc) as connected:
            infer(connected, [1, 2, 3])
        processes = [psutil.Process(started.pid), psutil.Process(started.pid).parent(), *below(started.pid)]
        stand = {process.cwd() for process in processes}
    assert len(stand) == 1
    assert MARK in stand.pop()
    assert list(tmp_path.glob("*.sprung")) == []


def test_nobody_else_may_read_a_servers_memory_and_files(running):
    root = Path(psutil.Process(running.pid).cwd()).parent
    regions = list(SHARED_MEMORY.glob(f"{root.name}*"))
    assert len(regions) >= 2
    assert {region.stat().st_mode & 0o777 for region in regions} == {0o600}
    assert root.stat().st_mode & 0o777 == 0o700
    assert {(root / name).stat().st_mode & 0o077 for name in ("triton.log", "place/http.socket")} == {0}


def test_a_killed_supervisor_takes_the_rest_along(serve):
    before = traces()
    serving = serve()
    psutil.Process(serving.triton.ppid()).kill()
    assert serving.process.wait(30) != 0
    assert eventually(lambda: traces() == before)


def test_from_copied_packages_in_an_empty_environment(serve, tmp_path):
    """The server runs as installed: away from the checkout, with no variable set that could help."""
    site = tmp_path / "site"
    for package in (lamr_base, lamr_model, lamr_serving):
        source = Path(package.__file__).parent
        shutil.copytree(source, site / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    serving = serve(site=[str(site)], env={})
    with triton.InferenceServerClient(serving.address()) as connected:
        infer(connected, [1, 2, 3])
    commands = " ".join(argument for child in serving.children for argument in child.cmdline())
    assert str(site / "lamr_serving") in commands
    assert str(lamr_serving.__path__[0]) not in commands
    serving.process.terminate()
    assert serving.process.wait(30) == 0
    assert serving.text().endswith("lamr: stopped\n")


def test_serve_stops_the_server_when_its_caller_fails(tiny):
    before = traces()
    others = set(below(os.getpid()))
    processes = set()

    def fail(info):
        assert info.spec.name == "tiny"
        processes.update(set(below(os.getpid())) - others)
        raise BrokenPipeError("nobody reads this")

    with pytest.raises(BrokenPipeError):
        lamr_serving.serve(tiny.root, OPTIONS, io.StringIO(), on_ready=fail)
    assert len(processes) >= 4  # supervisor, server, two model processes
    assert all_end(processes)
    assert traces() == before


def test_serve_reports_to_a_given_stream_and_refuses_in_the_same_words(tiny_copy):
    (tiny_copy.root / "lamr_encoder" / "1" / "model.onnx").unlink()
    out = io.StringIO()
    with pytest.raises(lamr_serving.ModelRepositoryError, match=r"model\.onnx is missing"):
        lamr_serving.serve(tiny_copy.root, OPTIONS, out)
    assert out.getvalue() == ""
