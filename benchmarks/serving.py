"""What serving through Triton costs over calling the same model directly, and what it gives under load.

    python -m benchmarks.serving [--repository DIR] [--threads N] [--requests N] [--json]

Measures the latency that Triton adds to one request of 400 tokens, or of the model's window if that is less; the
throughput and mean batch sizes of 64 concurrent requests of different lengths; and the memory of the server and its
model processes. Direct calls and requests alternate in blocks, since the machine's load changes during the
run."""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from lamr_model import names
from lamr_model.crf import Decoder, DecoderWeights
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.spec import client_files, load_spec
from lamr_serving import ServerOptions, TritonServer
from tokenizers import Tokenizer
from tritonclient import grpc
from tritonclient.utils import InferenceServerException

from benchmarks.load import resident_by_process
from benchmarks.report import Figure, model_options, run
from benchmarks.sessions import server_session
from benchmarks.sources import library_module
from benchmarks.timing import time_call

LENGTH = 400
CONCURRENCY = 64
BLOCK = 10
OUTPUTS = (names.KEEP, names.KEEP_PROB, names.RELEVANCE)
Request = tuple[np.ndarray, tuple[int, int]]  # token ids and document span


class Direct:
    """Encoder and decoder in this process: what Triton's time is compared with."""

    def __init__(self, repository: Path, threads: int) -> None:
        self._session = server_session(
            names.version_folder(repository, names.ENCODER) / names.ONNX_FILE, threads
        )
        self._decoder = Decoder(
            DecoderWeights.load(names.version_folder(repository, names.DECODER) / names.WEIGHTS_FILE)
        )

    def __call__(self, ids: np.ndarray, span: tuple[int, int]) -> None:
        fused, _ = self._session.run(names.ENCODER_OUTPUTS, encoder_feed([ids]))
        self._decoder.decode(fused[span[0] : span[1]], [0, span[1] - span[0]])


class Remote:
    """A client of a Triton server that sends one chunk a request."""

    def __init__(self, address: str) -> None:
        self._client = grpc.InferenceServerClient(address)
        self._outputs = [grpc.InferRequestedOutput(name) for name in OUTPUTS]

    def __call__(self, ids: np.ndarray, span: tuple[int, int]) -> None:
        self._client.infer(names.ENSEMBLE, self._inputs(ids, span), outputs=self._outputs).as_numpy(
            names.KEEP_PROB
        )

    def together(self, requests: list[Request], in_flight: int) -> tuple[float, int]:
        """Seconds for all requests with `in_flight` of them under way at any time, and how many were refused."""
        slots = threading.Semaphore(in_flight)
        failures: list[InferenceServerException] = []

        def done(result: object, error: InferenceServerException | None) -> None:  # noqa: ARG001  # passed by name
            if error is not None:
                failures.append(error)
            slots.release()

        begun = time.perf_counter()
        for ids, span in requests:
            slots.acquire()
            self._client.async_infer(
                names.ENSEMBLE, self._inputs(ids, span), outputs=self._outputs, callback=done
            )
        for _ in range(in_flight):
            slots.acquire()
        seconds = time.perf_counter() - begun
        for error in failures:
            if not str(error.status()).endswith("UNAVAILABLE"):
                raise error
        return seconds, len(failures)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Requests and executions of each model so far."""
        stats = self._client.get_inference_statistics().model_stats
        return {entry.name: (entry.inference_count, entry.execution_count) for entry in stats}

    @staticmethod
    def _inputs(ids: np.ndarray, span: tuple[int, int]) -> list[grpc.InferInput]:
        tokens = grpc.InferInput(names.INPUT_IDS, [1, len(ids)], "INT64")
        tokens.set_data_from_numpy(ids[None])
        document = grpc.InferInput(names.DOCUMENT_SPAN, [1, 2], "INT32")
        document.set_data_from_numpy(np.array([span], np.int32))
        return [tokens, document]


def source_ids(repository: Path) -> np.ndarray:
    """Token ids of a real source file."""
    tokenizer = Tokenizer.from_file(str(client_files(repository) / names.TOKENIZER_FILE))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return np.array(tokenizer.encode(library_module("argparse.py"), add_special_tokens=False).ids, np.int64)


def random_requests(ids: np.ndarray, longest: int, count: int) -> list[Request]:
    """Pieces of the ids of 32 to `longest` tokens, at random places."""
    rng = np.random.default_rng(0)
    requests = []
    for _ in range(count):
        length = int(rng.integers(32, longest + 1))
        start = int(rng.integers(0, len(ids) - length))
        requests.append((ids[start : start + length], (10, length - 1)))
    return requests


def latency_figures(direct: Direct, remote: Remote, ids: np.ndarray, requests: int) -> Iterator[Figure]:
    """Median milliseconds of a direct call and of a request, and the median difference of blocks."""
    span = (20, len(ids) - 1)
    blocks = [
        tuple(1e3 * time_call(partial(call, ids, span), BLOCK).wall_median for call in (direct, remote))
        for _ in range(max(1, requests // BLOCK))
    ]
    medians = [statistics.median(times) for times in zip(*blocks, strict=True)]
    yield Figure(f"one request of {len(ids)} tokens, direct", medians[0], "ms")
    yield Figure("  through Triton", medians[1], "ms")
    added = statistics.median(served - called for called, served in blocks)
    yield Figure("Triton over in-process, one request", added, "ms", 3)


def load_figures(remote: Remote, requests: list[Request]) -> Iterator[Figure | str]:
    """Throughput and mean batches of concurrent requests."""
    before = remote.counts()
    seconds, refused = remote.together(requests, CONCURRENCY)
    after = remote.counts()
    answered = len(requests) - refused
    tokens = sum(len(ids) for ids, _ in requests) * answered / len(requests)
    yield Figure(f"{CONCURRENCY} concurrent requests", answered / seconds, "/s")
    yield Figure("  their tokens", tokens / seconds, "tokens/s")
    for name in (names.ENCODER, names.DECODER):
        batches = [now - then for now, then in zip(after[name], before[name], strict=True)]
        yield Figure(f"  mean batch of {name}", batches[0] / batches[1])
    yield Figure("  refused", refused)
    if refused:
        yield "  the queue's limits refused requests: this machine is too slow, or too busy"


def memory_figures(server: int) -> Iterator[Figure]:
    """Resident memory of the supervisor, the server, and each model's processes together."""
    supervisor = psutil.Process(server).parent()
    if supervisor is not None:
        yield Figure("resident: supervisor", supervisor.memory_info().rss / 2**20, "MiB")
    for name, mib in resident_by_process(server).items():
        yield Figure(f"resident: {name}", mib, "MiB")


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """All figures of one repository."""
    repository, requests = options.repository, options.requests
    ids = source_ids(repository)
    longest = min(LENGTH, load_spec(repository).chunking.window)
    with TritonServer(repository, ServerOptions(threads=options.threads)) as server:
        remote = Remote(server.addresses.grpc)
        yield from latency_figures(Direct(repository, options.threads), remote, ids[:longest], requests)
        yield from load_figures(remote, random_requests(ids, longest, max(requests, 2 * CONCURRENCY)))
        yield from memory_figures(server.pid)


PARSER = model_options(__doc__)
PARSER.add_argument("--requests", type=int, default=200, help="how many to measure (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
