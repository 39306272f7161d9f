"""One trace followed: what a caller names, in the front's log and in the spans that a real Triton exports."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from lamr_client import bundled_repository
from lamr_serving import ServerOptions, TritonServer

from .conftest import inference, stub_of

pytestmark = pytest.mark.server


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Where spans are sent to over HTTP, and the bodies that came."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies
        server.shutdown()
        thread.join()


def spans(bodies: list[bytes]) -> list[dict]:
    """The spans of exported batches; Triton writes OTLP as JSON."""
    return [
        span
        for body in bodies
        for resource in json.loads(body)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def test_a_trace_is_followed_to_tritons_spans(site, collector) -> None:
    url, bodies = collector
    settings = ("level=TIMESTAMPS", "rate=1", "mode=opentelemetry", f"opentelemetry,url={url}")
    options = ServerOptions(
        threads=1,
        extra_arguments=(
            *(f"--trace-config={each}" for each in settings),
            "--trace-config=opentelemetry,bsp_schedule_delay=100",
        ),
    )
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    traceparent = f"00-{trace}-{span}-01"
    with TritonServer(bundled_repository(), options) as server:
        site.write({"alice": ""}, replicas=f'[replicas.one]\ngrpc = "{server.addresses.grpc}"')
        site.start()
        request = inference(tokens=8)
        for tensor in request.inputs:
            shape = [1, *tensor.shape]
            del tensor.shape[:]
            tensor.shape.extend(shape)
        request.raw_input_contents[0] = np.arange(1000, 1008, dtype=np.int64).tobytes()
        metadata = [*site.metadata("alice"), ("traceparent", traceparent)]
        stub_of(site.channel()).ModelInfer(request, metadata=metadata, timeout=60)
        site.until(lambda: any(line["trace"] == traceparent for line in site.logged()))
        site.until(lambda: any(own["traceId"] == trace for own in spans(bodies)))
    own = [each for each in spans(bodies) if each["traceId"] == trace]
    assert span in {each["parentSpanId"] for each in own}  # the caller's span is the first one's parent
    assert {"lamr", "lamr_encoder", "lamr_decoder"} <= {each["name"] for each in own}
