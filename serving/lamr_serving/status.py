"""The facts of `lamr status`: what a running server says about itself, and what is installed here."""

import importlib.metadata
import importlib.util
import os
import platform
from dataclasses import dataclass
from typing import Any

from lamr_base.cpus import cpu_features, usable_cpus
from lamr_base.errors import (
    AccessDeniedError,
    DeadlineExceededError,
    LamrError,
    ServerError,
    ServerUnavailableError,
)
from lamr_base.silence import import_onnxruntime
from lamr_client import triton_wire as wire
from lamr_client.connection import Connection, parse_connection
from lamr_model import names
from lamr_model.spec import bundled_repository, load_spec

from lamr_serving.engines import PRECISIONS, WIDE, choose, engine_for
from lamr_serving.repository_check import read_config

MOST_ANSWER_BYTES = 64 << 20  # largest answer: a causal model's configuration holds its tokenizer
MOST_MODELS = 64  # each is asked about by itself; a server of lamr's has three
UNSUITED = (
    "the bundled model's own; this machine has no integer dot products, so that it is slow: say --effort instant where "
    "time is short"
)
PROVIDER_TITLES = {"cuda": "CUDA", "tensorrt": "TensorRT", "openvino": "OpenVINO"}


@dataclass(frozen=True)
class ModelStatus:
    """One model of a server."""

    name: str  # as the server says, like its version
    version: str
    state: str  # READY or UNAVAILABLE
    requests: int = 0  # counts since the model was loaded; an execution runs a batch of requests
    executions: int = 0
    failures: int = 0
    mean_batch: float | None = None  # the mean number of requests in an execution; None before the first one
    compute_ms: float | None = None  # the mean of successful requests; None before the first one


@dataclass(frozen=True)
class ServerStatus:
    """A server's answer."""

    address: str  # `host:port` of the gRPC endpoint that was asked
    live: bool  # whether the server answers
    ready: bool  # whether all of its models are ready
    server: str  # as the server says, like its version
    server_version: str
    model: str | None  # which model the `lamr` ensemble is; None, as the next two, where there is none
    model_version: str | None
    fingerprint: str | None
    provider: str | None  # the execution provider that the encoder's configuration asks for
    precision: str | None  # the precision of the encoder's products, as the configuration says
    models: tuple[ModelStatus, ...]  # all models that the server has loaded, with statistics


@dataclass(frozen=True)
class LocalStatus:
    """The abilities of this installation without a server."""

    lamr: str | None  # versions; None where a package isn't installed
    python: str
    numpy: str | None
    onnxruntime: str | None  # its version
    providers: tuple[str, ...]  # its execution providers
    triton: str | None  # the version of the `nvidia-pytriton` wheel
    model: str | None  # which model the bundled one is; None, as the next two, where it is missing or broken
    model_version: str | None
    fingerprint: str | None
    problem: str | None  # why the bundled model can't be used; None when it can
    engine: str | None  # provider and precision of the bundled encoder, and what they mean on these CPUs
    small_engine: str  # what suits these CPUs best for a small encoder, and why
    wide_engine: str  # the same for an encoder at least as wide as Qwen3-0.6B's
    threads: int  # CPUs that this process may use


def server_status(  # noqa: PLR0913  # keyword-only, each with a default
    address: str,
    timeout: float = 5.0,
    *,
    api_key: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    cert: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
) -> ServerStatus:
    """Ask a server what it is, what it serves and how it fares. A front tells of the tenant's model alone.

    Args:
        address: `host:port` of its gRPC endpoint, or whatever else `parse_connection` reads.
        timeout: seconds to wait for each of a few answers.
        api_key, ca, cert, key: see `Pruner`.

    Raises:
        AccessDeniedError: a front doesn't know the key.
        ServerUnavailableError: nothing answers there.
        DeadlineExceededError: an answer did not come in time.
        ServerError: something answers, but not as Triton does."""
    from tritonclient import grpc  # noqa: PLC0415  # takes a while to import

    connection = parse_connection(address, api_key=api_key, ca=ca, cert=cert, key=key)
    options = wire.channel_options(connection.address, MOST_ANSWER_BYTES)
    try:
        with grpc.InferenceServerClient(**connection.client_arguments(), channel_args=options) as client:
            return _ask(client, connection, timeout)
    except LamrError:
        raise
    except Exception as error:  # gRPC's share no base
        raise _translate(error, connection.address) from error


def local_status() -> LocalStatus:
    """Find out what this installation can do. onnxruntime is imported if it is installed."""
    spec, engine, problem = None, None, None
    try:
        spec = load_spec(bundled_repository())
        config = read_config(names.config_file(bundled_repository(), names.ENCODER))
        precision = config.parameters[names.PRECISION_PARAMETER].string_value
        engine = engine_for(precision) if precision in PRECISIONS else None
    except LamrError as error:
        problem = str(error)
    providers: tuple[str, ...] = ()
    small, wide = choose(), choose(width=WIDE)
    if importlib.util.find_spec("onnxruntime"):
        providers = tuple(import_onnxruntime().get_available_providers())
    return LocalStatus(
        lamr=_installed("lamr-server"),
        python=platform.python_version(),
        numpy=_installed("numpy"),
        onnxruntime=_installed("onnxruntime") or _installed("onnxruntime-gpu"),
        providers=providers,
        triton=_installed("nvidia-pytriton"),
        model=spec.name if spec else None,
        model_version=spec.version if spec else None,
        fingerprint=spec.fingerprint if spec else None,
        problem=problem,
        engine=f"{engine}: {engine.reason if engine.suits(cpu_features()) else UNSUITED}" if engine else None,
        small_engine=f"{small}: {small.reason}",
        wide_engine=f"{wide}: {wide.reason}",
        threads=usable_cpus(),
    )


def _ask(client: Any, connection: Connection, timeout: float) -> ServerStatus:
    options = {"headers": connection.metadata, "client_timeout": timeout}
    live = client.is_server_live(**options)
    ready = client.is_server_ready(**options)
    metadata = client.get_server_metadata(**options)
    statistics = _statistics(client, options)
    loaded = {
        entry.name for entry in statistics if client.is_model_ready(entry.name, entry.version, **options)
    }
    parameters: dict[str, str] = {}
    provider, precision = None, None
    if not statistics and client.is_model_ready(names.ENSEMBLE, **options):
        loaded.add(names.ENSEMBLE)
    if entry := _first(loaded, names.ENSEMBLE, names.PERPLEXITY):
        config = client.get_model_config(entry, **options).config
        parameters = {key: value.string_value for key, value in config.parameters.items()}
    if computing := _first(loaded, names.ENCODER, names.PERPLEXITY):
        config = client.get_model_config(computing, **options).config
        provider = provider_of(config)
        precision = config.parameters[names.PRECISION_PARAMETER].string_value or None
    return ServerStatus(
        address=connection.address,
        live=bool(live),
        ready=bool(ready),
        server=metadata.name,
        server_version=metadata.version,
        model=parameters.get(names.NAME_PARAMETER),
        model_version=parameters.get(names.VERSION_PARAMETER),
        fingerprint=parameters.get(names.FINGERPRINT_PARAMETER),
        provider=provider,
        precision=precision,
        models=tuple(_model(entry, entry.name in loaded) for entry in statistics),
    )


def _first(loaded: set[str], *names: str) -> str | None:
    return next((name for name in names if name in loaded), None)


def _statistics(client: Any, options: dict[str, Any]) -> Any:
    """Each model's counts; none from a front. (The repository's index is `lamr serve`'s own.)"""
    from tritonclient.utils import InferenceServerException  # noqa: PLC0415

    try:
        return client.get_inference_statistics(**options).model_stats[:MOST_MODELS]
    except InferenceServerException as error:
        if (error.status() or "").endswith("PERMISSION_DENIED"):
            return []
        raise


def provider_of(config: Any) -> str:
    """The execution provider that a model configuration (Triton's ModelConfig) asks for."""
    accelerators = config.optimization.execution_accelerators
    on_gpu = any(group.kind == group.KIND_GPU for group in config.instance_group)
    named = accelerators.gpu_execution_accelerator if on_gpu else accelerators.cpu_execution_accelerator
    if named:
        return PROVIDER_TITLES.get(named[0].name) or str(named[0].name)
    return "CUDA" if on_gpu else "CPU"


def _model(counted: Any, ready: bool) -> ModelStatus:
    stats = counted.inference_stats
    done = stats.success.count
    return ModelStatus(
        name=counted.name,
        version=counted.version,
        state="READY" if ready else "UNAVAILABLE",
        requests=counted.inference_count,
        executions=counted.execution_count,
        failures=stats.fail.count,
        mean_batch=counted.inference_count / counted.execution_count if counted.execution_count else None,
        compute_ms=stats.compute_infer.ns / done / 1e6 if done else None,
    )


def _translate(error: Exception, address: str) -> ServerError:
    status, message = wire.status_of(error), wire.message_of(error)
    if status in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return AccessDeniedError(f"{address} refuses: {message}", server=address)
    if status == "UNAVAILABLE":
        return ServerUnavailableError(f"no server answers at {address} ({message}); is `lamr serve` running?")
    if status == "DEADLINE_EXCEEDED":
        return DeadlineExceededError(f"the server at {address} did not answer in time")
    return ServerError(f"{address} does not answer as Triton's gRPC endpoint does: {message}")


def _installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
