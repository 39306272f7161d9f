"""What serving through Triton costs over calling the same model directly, and what it gives under load.

    python benchmarks/serving.py [--repository DIR] [--requests N] [--json]

Prints the latency that Triton adds to one request of 400 tokens, or of the model's window if that is less (target:
at most 3 ms), the throughput and mean batch sizes of 64 concurrent requests of different lengths, and the memory of
the server and its model processes. Direct calls and requests alternate in blocks, since the machine's load changes
while we measure.
"""

from __future__ import annotations

import argparse
import argparse as subject  # a real source file of the standard library, for real token ids
import json
import statistics
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil
from lamr_contract.names import DECODER, ENCODER, ENCODER_OUTPUTS, ONNX_FILE, WEIGHTS_FILE, version_folder
from lamr_contract.packed_batch import encoder_feed
from lamr_contract.spec import bundled_repository, client_files, load_spec
from lamr_decoding import Decoder, DecoderWeights
from lamr_serving import ServerOptions, TritonServer
from lamr_serving.onnx_backend.config import OnnxModelConfig
from load import resident_by_process
from tokenizers import Tokenizer
from tritonclient import grpc
from tritonclient.utils import InferenceServerException

TARGET_MS = 3.0
LENGTH = 400
CONCURRENCY = 64
BLOCK = 10
OUTPUTS = ("keep", "keep_prob", "relevance")


@dataclass(frozen=True)
class Figures:
    """Milliseconds for one request of `tokens`, requests a second, requests a run, MiB."""

    tokens: int
    direct_ms: float
    triton_ms: float
    added_ms: float
    refused: int
    requests_per_second: float
    tokens_per_second: float
    encoder_mean_batch: float
    decoder_mean_batch: float
    memory_mib: dict[str, float]


class Direct:
    """Encoder and decoder in this process: what Triton's time is compared with."""

    def __init__(self, repository: Path, threads: int) -> None:
        import onnxruntime
        from lamr_serving.onnx_backend.session import session_options

        config = OnnxModelConfig("", "", 1, (), (), (), {}, {"intra_op_thread_count": str(threads)}, 0, {})
        self._session = onnxruntime.InferenceSession(
            version_folder(repository, ENCODER) / ONNX_FILE, session_options(config, onnxruntime)
        )
        self._decoder = Decoder(DecoderWeights.load(version_folder(repository, DECODER) / WEIGHTS_FILE))

    def __call__(self, ids: np.ndarray, span: tuple[int, int]) -> None:
        fused, _ = self._session.run(ENCODER_OUTPUTS, encoder_feed([ids]))
        self._decoder.decode(fused[span[0] : span[1]], [0, span[1] - span[0]])


class Remote:
    """The same through Triton."""

    def __init__(self, address: str) -> None:
        self._client = grpc.InferenceServerClient(address)
        self._outputs = [grpc.InferRequestedOutput(name) for name in OUTPUTS]

    def __call__(self, ids: np.ndarray, span: tuple[int, int]) -> None:
        self._client.infer("lamr", self._inputs(ids, span), outputs=self._outputs).as_numpy("keep_prob")

    def together(
        self, requests: list[tuple[np.ndarray, tuple[int, int]]], in_flight: int
    ) -> tuple[float, int]:
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
            self._client.async_infer("lamr", self._inputs(ids, span), outputs=self._outputs, callback=done)
        for _ in range(in_flight):
            slots.acquire()
        seconds = time.perf_counter() - begun
        for error in failures:
            if not str(error.status()).endswith("UNAVAILABLE"):
                raise error
        return seconds, len(failures)

    def counts(self) -> dict[str, tuple[int, int]]:
        """(requests, executions) by model so far."""
        stats = self._client.get_inference_statistics().model_stats
        return {entry.name: (entry.inference_count, entry.execution_count) for entry in stats}

    @staticmethod
    def _inputs(ids: np.ndarray, span: tuple[int, int]) -> list[grpc.InferInput]:
        tokens = grpc.InferInput("input_ids", [1, len(ids)], "INT64")
        tokens.set_data_from_numpy(ids[None])
        document = grpc.InferInput("document_span", [1, 2], "INT32")
        document.set_data_from_numpy(np.array([span], np.int32))
        return [tokens, document]


def source_ids(repository: Path) -> np.ndarray:
    """Token ids of a real source file."""
    tokenizer = Tokenizer.from_file(str(client_files(repository) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    text = Path(subject.__file__).read_text(encoding="utf-8")
    return np.array(tokenizer.encode(text, add_special_tokens=False).ids, np.int64)


def latency(direct: Direct, remote: Remote, ids: np.ndarray, requests: int) -> tuple[float, float, float]:
    """Median milliseconds of a direct call and of a request, and the median difference of blocks."""
    request = (ids, (20, len(ids) - 1))

    def block(call: Direct | Remote) -> float:
        call(*request)  # whatever ran before has left caches and spinning threads
        times = []
        for _ in range(BLOCK):
            begun = time.perf_counter()
            call(*request)
            times.append((time.perf_counter() - begun) * 1e3)
        return statistics.median(times)

    pairs = [(block(direct), block(remote)) for _ in range(max(1, requests // BLOCK))]
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[1] - pair[0] for pair in pairs),
    )


def measure(repository: Path, requests: int, threads: int) -> Figures:
    """All figures for one repository."""
    ids = source_ids(repository)
    longest = min(LENGTH, load_spec(repository).chunking.window)
    rng = np.random.default_rng(0)
    with TritonServer(repository, ServerOptions(threads=threads)) as server:
        remote = Remote(server.addresses.grpc)
        direct_ms, triton_ms, added_ms = latency(Direct(repository, threads), remote, ids[:longest], requests)
        load = []
        for _ in range(max(requests, 2 * CONCURRENCY)):
            length = int(rng.integers(32, longest + 1))
            start = int(rng.integers(0, len(ids) - length))
            load.append((ids[start : start + length], (10, length - 1)))
        before = remote.counts()
        seconds, refused = remote.together(load, CONCURRENCY)
        after = remote.counts()
        batches = {
            name: (after[name][0] - before[name][0]) / (after[name][1] - before[name][1])
            for name in ("lamr_encoder", "lamr_decoder")
        }
        return Figures(
            tokens=longest,
            direct_ms=direct_ms,
            triton_ms=triton_ms,
            added_ms=added_ms,
            refused=refused,
            requests_per_second=(len(load) - refused) / seconds,
            tokens_per_second=sum(len(chunk) for chunk, _ in load) * (1 - refused / len(load)) / seconds,
            encoder_mean_batch=batches["lamr_encoder"],
            decoder_mean_batch=batches["lamr_decoder"],
            memory_mib=memory(server.pid),
        )


def memory(server: int) -> dict[str, float]:
    """Resident MiB of the supervisor, the server, and each model's processes together."""
    supervisor = psutil.Process(server).parent()
    outside = {} if supervisor is None else {"supervisor": supervisor.memory_info().rss / 2**20}
    return outside | resident_by_process(server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repository", type=Path, help="model repository (default: the bundled one)")
    parser.add_argument("--requests", type=int, default=200, help="how many to measure")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of the encoder, in both")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    options = parser.parse_args()
    figures = measure(options.repository or bundled_repository(), options.requests, options.threads)
    if options.json:
        print(json.dumps(asdict(figures), indent=2))
        return
    print(f"one {figures.tokens}-token request, median of {options.requests}")
    print(f"  direct          {figures.direct_ms:8.2f} ms")
    print(f"  through Triton  {figures.triton_ms:8.2f} ms")
    print(
        f"  added           {figures.added_ms:8.2f} ms   target {TARGET_MS:.0f} ms: x{figures.added_ms / TARGET_MS:.2f}"
    )
    print(f"{CONCURRENCY} concurrent requests of 32 to {figures.tokens} tokens")
    print(
        f"  throughput      {figures.requests_per_second:8.1f} requests/s, {figures.tokens_per_second:.0f} tokens/s"
    )
    print(
        f"  mean batch      {figures.encoder_mean_batch:8.2f} encoder, {figures.decoder_mean_batch:.2f} decoder"
    )
    if figures.refused:
        print(
            f"  refused         {figures.refused:8d} by the queue's limits: this machine is too slow, or too busy"
        )
    print("resident memory")
    for name, mib in figures.memory_mib.items():
        print(f"  {name:<15} {mib:8.1f} MiB")


if __name__ == "__main__":
    main()
