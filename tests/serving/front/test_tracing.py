"""What a real Triton tells: its metrics, and its spans in a trace with the caller's span and the front's log."""

import json
import secrets
from collections.abc import Iterator

import pytest
from lamr_client import Pruner, bundled_repository
from lamr_serving import ServerOptions, TritonServer
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from tests.http_server import Reply, Request, answering
from tests.processes import eventually
from tests.tiny import IN_FULL

from .test_client import CODE, QUERY
from .test_monitoring import dashboard_expressions, missing, read

pytestmark = pytest.mark.server
SAMPLED = TraceFlags(TraceFlags.SAMPLED)
SPANS = {"lamr", "lamr_encoder", "lamr_decoder"}
ATTEMPTS = 5
"""A server that ends because a busy machine halted one of its models' processes takes the spans along that it holds."""


@pytest.fixture(scope="module")
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Where spans are sent to over HTTP, and the bodies that came."""
    bodies: list[bytes] = []

    def collect(request: Request) -> Reply:
        bodies.append(request.body)
        return 200, b"", {}

    with answering(collect) as address:
        yield address + "/v1/traces", bodies


def spans(bodies: list[bytes]) -> list[dict]:
    """The spans of exported batches; Triton writes OTLP as JSON."""
    return [
        span
        for body in bodies
        for resource in json.loads(body)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


@pytest.fixture(scope="module")
def traced(collector: tuple[str, list[bytes]]) -> Iterator[TritonServer]:
    """A server that exports its spans."""
    settings = ("level=TIMESTAMPS", "rate=1", "mode=opentelemetry", f"opentelemetry,url={collector[0]}")
    more = "--trace-config=opentelemetry,bsp_schedule_delay=100"
    arguments = (*(f"--trace-config={each}" for each in settings), more)
    options = ServerOptions(threads=1, restart=True, extra_arguments=arguments)
    with TritonServer(bundled_repository(), options) as server:
        yield server


def test_a_trace_is_followed_to_tritons_spans(site, collector, traced) -> None:
    bodies = collector[1]
    context = SpanContext(secrets.randbits(128), secrets.randbits(64), is_remote=False, trace_flags=SAMPLED)
    own, parent = f"{context.trace_id:032x}", f"{context.span_id:016x}"

    def exported() -> bool:
        return {each["name"] for each in spans(bodies) if each["traceId"] == own} >= SPANS

    site.write({"alice": ""}, replicas=f'[replicas.one]\ngrpc = "{traced.addresses.grpc}"')
    site.start()
    with (
        Pruner(f"127.0.0.1:{site.port}", api_key=site.keys["alice"], timeout=60, retries=10) as pruner,
        use_span(NonRecordingSpan(context)),
    ):
        for _ in range(ATTEMPTS):
            assert pruner.prune(QUERY, CODE, **IN_FULL).text
            if eventually(exported):
                break
    site.until(lambda: len(site.logged()) >= 2)
    assert exported(), traced.log()[-3000:]
    logged = {line["path"].rpartition("/")[2]: line["trace"] for line in site.logged()}
    assert logged == dict.fromkeys(("ModelConfig", "ModelInfer"), f"00-{own}-{parent}-01")
    found = [each for each in spans(bodies) if each["traceId"] == own]
    assert parent in {each["parentSpanId"] for each in found}  # the caller's span is the first one's parent


def test_a_real_triton_has_every_metric_of_the_dashboard(traced) -> None:
    with Pruner(traced.addresses.grpc, retries=10) as pruner:
        pruner.prune(QUERY, CODE, **IN_FULL)
    scrape = read(f"http://{traced.addresses.metrics}/metrics")
    assert not list(missing(dashboard_expressions(), "nv", scrape))
