"""`lamr http` on a real port: its answers, what it refuses, and SWE-Pruner's clients."""

import asyncio
import gzip
import json
import re
import socket
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from lamr_agents.http.app import STATUSES, create_app
from lamr_agents.http.limits import HttpLimits, server_options
from lamr_agents.local.texts import Texts
from lamr_base.admission import TRACE_METADATA
from lamr_client import (
    AccessDeniedError,
    AsyncPruner,
    DeadlineExceededError,
    ModelMismatchError,
    OverloadedError,
    QuotaExceededError,
    ServerUnavailableError,
)
from lamr_client.mock_transport import AsyncMockTransport, uniform_answer
from lamr_client.tracing import trace_metadata
from lamr_repositories import RepositoryError

from tests.agents.samples import CODE, LINES, pruner

Rule = Callable[..., Any]
TRACE = "00-abababababababababababababababab-cdcdcdcdcdcdcdcd-01"


class Site:
    """A running application, with uvicorn's `server` and the `transport` whose errors and delay tests set."""

    def __init__(self, port: int, transport: AsyncMockTransport, server: uvicorn.Server) -> None:
        self.url, self.port = f"http://127.0.0.1:{port}", port
        self.transport, self.server = transport, server

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def post(
        self, path: str, body: Any, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, parsed body and headers of an answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data, {"Content-Type": "application/json", **(headers or {})}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read()), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), dict(error.headers)


@contextmanager
def site(
    limits: HttpLimits | None = None, rule: Rule | None = None, root: Path | None = None
) -> Iterator[Site]:
    transport = AsyncMockTransport(rule or (lambda request: uniform_answer(request, 0.5)))
    kept = tempfile.TemporaryDirectory()
    texts = Texts(Path(kept.name) / "texts.sqlite3")
    app = create_app(lambda: AsyncPruner(transport=transport, retries=0), limits, texts, root)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        options = server_options(limits or HttpLimits(stop_seconds=5))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", **options))
        thread = threading.Thread(target=asyncio.run, args=(server.serve(sockets=[holder]),))
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield Site(holder.getsockname()[1], transport, server)
        finally:
            server.should_exit = True
            thread.join()
            texts.close()
            kept.cleanup()


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with site() as started:
        yield started


@pytest.fixture
def served(running: Site) -> Iterator[Site]:
    yield running
    running.transport.errors, running.transport.delay = [], 0.0


QUERY = "What does handler_30 write?"


def test_prune_answers_every_field_of_the_result(served: Site) -> None:
    options = {"path": "a.py", "markers": "named", "keep": [1, [5, 6], "handler_59"], "line_numbers": True}
    status, answer, _ = served.post("/v1/prune", {"query": QUERY, "code": CODE, **options})
    assert status == 200
    with pruner() as asking:
        expected = asking.prune(
            QUERY, CODE, path="a.py", markers="named", keep=(1, (5, 6), "handler_59"), line_numbers=True
        ).to_dict()
    assert {**answer, "timings": None} == json.loads(json.dumps({**expected, "timings": None}))
    assert 0 < answer["threshold"] < 1


def test_the_trace_of_a_request_is_that_of_its_chunks() -> None:
    found = []

    def rule(request: Any) -> Any:
        found.append(trace_metadata())
        return uniform_answer(request, 0.5)

    with site(rule=rule) as own:
        for trace in (TRACE, "none of W3C's"):
            assert own.post("/v1/prune", {"query": QUERY, "code": CODE}, {TRACE_METADATA: trace})[0] == 200
    assert len(found) > 2
    assert found == [{TRACE_METADATA: TRACE}] * (len(found) // 2) + [{}] * (len(found) // 2)


def test_an_original_is_kept_where_that_is_asked_for(served: Site) -> None:
    body = {"query": QUERY, "code": CODE, "path": "a.py"}
    assert "key" not in served.post("/v1/prune", body)[1]
    _, answer, _ = served.post("/v1/prune", {**body, "keep_original": True})
    place = answer["note"].partition(f"`curl -s {served.url}/v1/show/")[2].partition("`")[0]
    key, _, lines = place.partition(":")
    assert key == answer["key"]
    first, last = map(int, lines.split("-"))
    assert served.get(f"/v1/show/{place}").splitlines() == CODE.splitlines()[first - 1 : last]
    assert served.get(f"/v1/show/{key}") == CODE
    with pytest.raises(urllib.error.HTTPError, match="404"):
        served.get(f"/v1/show/{'0' * 12}")


@pytest.mark.parametrize("error", [ServerUnavailableError("nothing answers"), DeadlineExceededError("none")])
def test_who_wants_it_gets_the_code_whatever_fails(served: Site, error: Exception) -> None:
    served.transport.errors = [error]
    body = {"query": QUERY, "code": CODE, "on_error": "passthrough", "keep_original": True, "degrade": False}
    status, answer, _ = served.post("/v1/prune", body)
    assert (status, answer["text"], answer["status"]) == (200, CODE, "passthrough")
    assert answer["reason"].startswith(type(error).__name__)
    assert "key" not in answer


def test_a_server_behind_that_fails_leaves_the_answer_to_the_line_model(served: Site) -> None:
    served.transport.errors = [ServerUnavailableError("nothing answers")] * 99
    status, answer, _ = served.post("/v1/prune", {"query": QUERY, "code": CODE})
    assert (status, answer["effort"]) == (200, "line model; server unavailable")
    assert "nothing answers" in answer["reason"]
    assert 'lamr_http_efforts_total{why="server unavailable"} ' in served.get("/metrics")


def test_effort_and_time_are_options_of_a_request(served: Site) -> None:
    served.transport.requests.clear()
    body = {"query": QUERY, "code": CODE, "effort": "instant", "within": 5}
    status, answer, _ = served.post("/v1/prune", body)
    assert (status, answer["effort"]) == (200, "line model")
    assert not served.transport.requests
    assert served.post("/v1/prune", {**body, "effort": "full"})[1]["effort"].startswith("all ")
    assert served.post("/v1/prune", {**body, "effort": "some"})[0] == 422
    assert served.post("/v1/prune", {**body, "within": 0})[0] == 422


def test_swe_pruners_request_gets_swe_pruners_answer(served: Site) -> None:
    body = {"query": QUERY, "code": CODE, "threshold": 0.5, "always_keep_first_frags": True}
    status, answer, _ = served.post("/prune", {**body, "chunk_overlap_tokens": 50})
    assert status == 200
    assert answer.keys() == {
        "score",
        "pruned_code",
        "token_scores",
        "kept_frags",
        "origin_token_cnt",
        "left_token_cnt",
        "model_input_token_cnt",
        "error_msg",
    }
    assert answer["error_msg"] is None
    assert 1 in answer["kept_frags"]
    assert "(filtered " in answer["pruned_code"]
    assert answer["token_scores"][0][0] == LINES[0] + "Ċ"
    assert answer["left_token_cnt"] < answer["origin_token_cnt"]
    shown = [line for line in answer["pruned_code"].split("\n") if not line.startswith("(filtered ")]
    assert set(shown) <= set(LINES)


@pytest.mark.parametrize("body", [{"query": " ", "code": CODE}, {"query": QUERY, "code": "a\0b"}])
def test_swe_pruners_clients_get_the_code_back_where_it_cant_be_judged(served: Site, body: Any) -> None:
    status, answer, _ = served.post("/prune", body)
    assert (status, answer["pruned_code"]) == (200, body["code"])
    assert answer["error_msg"].startswith("InvalidInputError: ")


def _relevance(request: Any) -> Any:
    return uniform_answer(request, len(request.input_ids) / 1000)


def test_documents_are_ranked_by_relevance() -> None:
    short, long = "x = 1\n", "value = compute(1, 2, 3)\n" * 5
    with site(rule=_relevance) as served:
        body = {"query": QUERY, "documents": [short, {"text": long}, short]}
        _, answer, _ = served.post("/v1/rerank", {**body, "top_n": 2, "return_documents": True})
        assert [each["index"] for each in answer["results"]] == [1, 0]
        assert answer["results"][0]["document"] == {"text": long}
        scores = [each["relevance_score"] for each in answer["results"]]
        assert scores == sorted(scores, reverse=True)
        _, answer, _ = served.post("/rerank", {"query": QUERY, "texts": [short, long], "return_text": True})
        assert [(each["index"], each["text"]) for each in answer] == [(1, long), (0, short)]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OverloadedError("its queue is full"), 429),
        (QuotaExceededError("too many", retry_after=2.5), 429),
        (AccessDeniedError("no such key"), 403),
        (ServerUnavailableError("nothing answers"), 503),
        (DeadlineExceededError("no answer"), 504),
        (ModelMismatchError("another model"), 502),
    ],
)
@pytest.mark.parametrize("path", ["/v1/prune", "/prune"])
def test_trouble_behind_is_a_status(served: Site, path: str, error: Exception, status: int) -> None:
    served.transport.errors = [error]
    body = {"query": QUERY, "code": CODE} | ({"degrade": False} if path == "/v1/prune" else {})
    found, answer, headers = served.post(path, body)
    assert found == status
    assert answer["error"] == type(error).__name__
    assert answer["message"]
    wait = {name.lower(): value for name, value in headers.items()}.get("retry-after")
    assert wait == (("3" if isinstance(error, QuotaExceededError) else "1") if status in (429, 503) else None)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/prune", {"query": QUERY}),
        ("/v1/prune", {"query": QUERY, "code": CODE, "threshold": 2}),
        ("/v1/prune", {"query": QUERY, "code": CODE, "treshold": 0.5}),
        ("/v1/prune", {"query": " ", "code": CODE}),
        ("/v1/prune", {"query": QUERY, "code": CODE, "max_tokens": 1}),
        ("/v1/prune", {"query": QUERY, "code": CODE, "keep": ["("]}),
        ("/v1/prune", b"not json"),
        ("/prune", {"code": CODE}),
        ("/v1/rerank", {"query": QUERY, "documents": []}),
        ("/rerank", {"query": QUERY, "texts": ["x"], "raw_scores": True}),
    ],
)
def test_what_cant_be_used_is_422(served: Site, path: str, body: Any) -> None:
    assert served.post(path, body)[0] == 422


def test_facts_of_an_error_come_along(served: Site) -> None:
    _, answer, _ = served.post("/v1/prune", {"query": QUERY, "code": CODE, "max_tokens": 1})
    assert answer["error"] == "BudgetError"
    assert answer["facts"]["needed"] > answer["facts"]["max_tokens"] == 1


def test_large_bodies_and_too_many_requests_are_refused() -> None:
    with site(HttpLimits(body=50_000, requests=1)) as served:
        assert served.post("/v1/prune", {"query": QUERY, "code": "x" * 50_001})[0] == 413
        served.transport.delay = 1.5
        first: list[int] = []
        body = {"query": QUERY, "code": CODE}
        thread = threading.Thread(target=lambda: first.append(served.post("/v1/prune", body)[0]))
        thread.start()
        while not served.transport.at_once:
            time.sleep(0.01)
        status, answer, headers = served.post("/v1/prune", body)
        assert (status, answer["error"]) == (429, "OverloadedError")
        assert headers["retry-after"] == "1"
        assert json.loads(served.get("/health"))["status"] == "healthy"  # whatever there is to do
        thread.join()
        assert first == [200]
        served.transport.delay = 0.0
        assert served.post("/v1/prune", body)[0] == 200


def test_a_body_that_announces_no_length_is_counted() -> None:
    with site(HttpLimits(body=1000)) as served:
        port = int(served.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(
                b"POST /v1/prune HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n"
                + b"x" * 2000
            )
            assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_health_metrics_and_the_description_of_paths(served: Site) -> None:
    served.post("/v1/prune", {"query": QUERY, "code": CODE})
    health = json.loads(served.get("/health"))
    assert (health["status"], health["model_loaded"]) == ("healthy", True)
    figures = served.get("/metrics")
    assert 'lamr_http_requests_total{path="/v1/prune",status="200"}' in figures
    assert 'lamr_http_tokens_total{way="in"}' in figures
    paths = json.loads(served.get("/openapi.json"))["paths"]
    assert {"/prune", "/v1/prune", "/v1/rerank", "/rerank", "/health"} <= paths.keys()
    assert served.get("/livez") == served.get("/readyz") == "ok\n"


@pytest.mark.parametrize(
    "body", [b'{"query": "a", "code": "b", "threshold": NaN}', b'{"query": "a", "c\\udcff": 1}']
)
@pytest.mark.parametrize("path", ["/v1/prune", "/prune", "/rerank"])
def test_values_that_cant_be_sent_back_are_bad_input(served: Site, path: str, body: bytes) -> None:
    status, answer, _ = served.post(path, body)
    assert status == 422
    assert all(each.keys() == {"type", "loc", "msg"} for each in answer["detail"])


def test_half_a_character_in_code_is_named_as_every_bad_input(served: Site) -> None:
    status, answer, _ = served.post("/v1/prune", {"query": QUERY, "code": CODE + "\udcff"})
    assert (status, answer["error"]) == (422, "InvalidInputError")
    status, answer, _ = served.post("/prune", {"query": QUERY, "code": CODE + "\udcff"})
    assert (status, answer["pruned_code"]) == (200, CODE + "?")
    assert answer["error_msg"].startswith("InvalidInputError: the code has a lone surrogate")


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/v1/prune", gzip.compress(b'{"query": "a", "code": "b"}'), {"Content-Encoding": "gzip"}, 415),
        ("/v1/prune", b'{"query": "a", "code": "b"}', {"Content-Encoding": "br"}, 415),
        ("/prune", b"[" * 100_000, {}, 400),
        ("/v1/prune", b'{"max_tokens": ' + b"9" * 5000 + b"}", {}, 400),
        ("/nowhere", b"{}", {}, 404),
        ("/livez", b"{}", {}, 405),
    ],
    ids=["gzip", "br", "nested", "digits", "path", "method"],
)
def test_what_the_application_never_sees_is_refused_in_the_form_of_all_errors(
    served: Site, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    request = urllib.request.Request(served.url + path, body, {"Content-Type": "application/json", **headers})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    answer = json.loads(refused.value.read())
    assert refused.value.code == status
    assert answer.keys() == {"error", "message", "facts"}
    assert answer["error"] == "InvalidInputError"
    assert answer["message"]


def test_the_page_lists_every_status() -> None:
    page = Path("docs/http.md").read_text(encoding="utf-8")
    told = {
        int(code) for row in re.findall(r"^\| ([\d, ]+) \|", page, re.MULTILINE) for code in row.split(", ")
    }
    assert told == {400, 404, 405, 408, 413, 415, 429} | {status for _, status in STATUSES}


def test_packs_are_of_folders_below_the_root(tmp_path: Path, served: Site) -> None:
    body = {"query": "When is a pool closed?", "max_tokens": 2_000}
    assert served.post("/v1/pack", body)[0] == 404
    for folder in ("root/pools", "secret"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "pool.py").write_text("def close(pool):\n    pool.closed = True\n")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    with site(root=tmp_path / "root") as own:
        for folder, path in (("pools", "pool.py"), ("", "pools/pool.py")):
            status, answer, _ = own.post("/v1/pack", {**body, "folder": folder})
            assert (status, [each["path"] for each in answer["files"]]) == (200, [path])
            assert answer["tokens"] <= 2_000
        for folder in ("..", "link", "none", "pools/pool.py", str(tmp_path / "secret"), "\0", "a" * 5_000):
            status, answer, _ = own.post("/v1/pack", {**body, "folder": folder})
            assert (status, answer["facts"]) == (422, {"argument": "folder"})
        assert own.post("/v1/pack", {**body, "folder": "pools", "max_tokens": 3})[0] == 422
    with pytest.raises(RepositoryError, match="no folder"):
        create_app(AsyncPruner, root=tmp_path / "none")
