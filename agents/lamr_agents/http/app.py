"""The application: bodies and paths, the `AsyncPruner` behind them, errors as statuses, and metrics."""

import asyncio
import json
import math
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from fastapi.routing import APIRoute
from lamr_base.admission import TRACE_METADATA
from lamr_base.choices import TokenizerName
from lamr_base.errors import own_errors, visible
from lamr_client import (
    AccessDeniedError,
    AsyncPruner,
    DeadlineExceededError,
    InvalidInputError,
    LamrError,
    ModelMismatchError,
    OverloadedError,
    PruneResult,
    QuotaExceededError,
    ServerUnavailableError,
)
from lamr_client.tracing import in_trace, is_traceparent
from lamr_postprocess import LEAST_CUT, split_lines
from lamr_postprocess.page import page, policy
from lamr_postprocess.render import SWE_PRUNER
from lamr_postprocess.trials import try_first
from lamr_repositories import PackOptions, RepositoryError, Using, pack_async
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException

from lamr_agents.http.limits import RETRY_SECONDS, HostMiddleware, HttpLimits, LimitMiddleware
from lamr_agents.local.texts import Archive, Place, Texts, UnknownTextError, default_texts
from lamr_agents.skim import largest_cut
from lamr_agents.skimmed import note

STATUSES: Sequence[tuple[type[LamrError], int]] = (
    (UnknownTextError, 404),
    (InvalidInputError, 422),
    (AccessDeniedError, 403),
    (OverloadedError, 429),
    (ServerUnavailableError, 503),
    (DeadlineExceededError, 504),
    (ModelMismatchError, 502),
    (LamrError, 500),
)
"""The status of an error; the first that it is one of."""
MOST_DETAILS = 20  # most errors reported for one body
_IN_FULL: dict[str, Any] = {"effort": "full", "degrade": False}
"""For answers in others' formats, which can't say what was read."""
_LATER = (429, 503)  # statuses after which the same request may be sent again
ASK_SECONDS, KEPT_SECONDS = 2.0, 2.0
"""For the server's answer to whether it is ready, and that it is taken for the present one."""
MOST_DOCUMENTS = 1000
MOST_KEPT = 10_000
MOST_PACKED = 200_000  # tokens
MOST_PACKS = 2  # at once, so that prunes go on
MOST_LISTED = 200  # folders that the page offers
PAGE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_MOST_FIELDS = 100
_PREFIX = "Value error, "  # pydantic's prefix of our own checks' messages


class Body(BaseModel):
    """A request's body; one of too many fields is refused whole, since each unknown one is an error of its own."""

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > _MOST_FIELDS:
            raise ValueError(f"{len(value):,} fields; no body has more than {_MOST_FIELDS}")
        return value


class PruneBody(Body):
    """`POST /v1/prune`: the options of `Pruner.prune` by their names."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(description="What is looked for: a question, an intention, or words.")
    code: str = Field(description="One file.")
    task: str = Field("", description="What the query serves, such as an issue's text; of any length.")
    history: str = Field(
        "", description="What the session said before the query, such as the agent's earlier words."
    )
    path: str | None = Field(None, description="The file's path, which tells its language.")
    language: str | None = Field(None, description="The language, instead of the path.")
    threshold: float | None = Field(None, ge=0, le=1, description="How likely a line must be to answer.")
    ratio: float | None = Field(None, ge=1, description="A budget: 4 keeps about a quarter.")
    max_tokens: int | None = Field(None, ge=1, description="Never more tokens than this, by `tokenizer`.")
    tokenizer: TokenizerName | None = Field(None, description="What counts tokens; o200k by default.")
    keep: list[int | tuple[int, int] | str] = Field(
        default_factory=list,
        max_length=MOST_KEPT,
        description="Lines to keep: numbers, [first, last] or regular expressions.",
    )
    line_numbers: bool = Field(False, description="Write original line numbers before the lines.")
    min_tokens: int = Field(0, ge=0, description="Code with fewer tokens passes untouched.")
    repair: bool = Field(True, description="Add the lines that the selection needs.")
    markers: Literal["comment", "named", "swe-pruner"] = Field("comment", description="How cuts are marked.")
    min_cut: int = Field(
        LEAST_CUT, ge=0, description="Characters that a cut between kept lines hides at least."
    )
    excerpts: bool = Field(
        False,
        description="Of minified code, which has no lines to choose from, show the parts around matches.",
    )
    effort: Literal["auto", "instant", "full"] = Field(
        "auto",
        description="How much the encoder reads: the chunks that the line model leaves open, nothing, or every chunk.",
    )
    within: float | None = Field(
        None, gt=0, description="Seconds until an answer is wanted, with what was read by then."
    )
    degrade: bool = Field(True, description="Let the line model answer where the server behind fails.")

    on_error: Literal["raise", "passthrough"] = Field(
        "raise", description="passthrough: trouble gives the code as it came, with the error as `reason`."
    )
    keep_original: bool = Field(
        False,
        description="Keep the code for `GET /v1/show`; the answer gets `key` and, for a cut text, `note`.",
    )

    def options(self) -> dict[str, Any]:
        return self.model_dump(exclude={"keep_original"})


class SwePrunerBody(Body):
    """`POST /prune` as SWE-Pruner's service takes it; fields that it doesn't know are let pass, as there."""

    query: str
    code: str
    threshold: float | None = Field(None, ge=0, le=1, description="Default: the model's own.")
    always_keep_first_frags: bool = Field(False, description="Keep the first line.")
    chunk_overlap_tokens: int = Field(50, description="Taken and not used: the model has its own chunks.")


class SwePrunerAnswer(BaseModel):
    """The answer of SWE-Pruner's service.

    `token_scores` has one entry a line, its text with `Ċ` for the line's end and its score: that is what thresholds are
    compared with here."""

    score: float = 0.0
    pruned_code: str
    token_scores: list[list[str | float]] = []
    kept_frags: list[int]
    origin_token_cnt: int = 0
    left_token_cnt: int = 0
    model_input_token_cnt: int = 0
    error_msg: str | None = None


class CohereDocument(BaseModel):
    """A document as an object."""

    text: str


class CohereBody(Body):
    """`POST /v1/rerank` as Cohere's rerank takes it."""

    query: str
    documents: list[str | CohereDocument] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    top_n: int | None = Field(None, ge=1)
    return_documents: bool = False
    model: str | None = Field(None, description="Taken and not used: there is one model.")


class TeiBody(Body):
    """`POST /rerank` as text-embeddings-inference takes it."""

    query: str
    texts: list[str] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    raw_scores: Literal[False] = Field(False, description="Scores are probabilities here.")
    return_text: bool = False


class PackBody(Body):
    """`POST /v1/pack`: a repository below `--root`."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(description="What is looked for.")
    task: str = Field("", description="What the query serves.")
    folder: str = Field("", description="The repository, below the root; default: the root.")
    max_tokens: int = Field(8_000, ge=1, le=MOST_PACKED, description="Never more tokens than this.")
    format: Literal["xml", "markdown", "plain", "json"] = Field("xml", description="The form of `text`.")


class _Metrics:
    """The metrics."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        names = ("path", "status")
        self.requests = Counter("lamr_http_requests", "Requests.", names, registry=self.registry)
        self.seconds = Histogram("lamr_http_seconds", "Seconds a request.", ("path",), registry=self.registry)
        self.under_way = Gauge("lamr_http_under_way", "Requests under way.", registry=self.registry)
        self.tokens = Counter("lamr_http_tokens", "Tokens in and out.", ("way",), registry=self.registry)
        self.efforts = Counter(
            "lamr_http_efforts", "Prunings, by why no more was read.", ("why",), registry=self.registry
        )

    def count(self, result: PruneResult) -> None:
        self.tokens.labels("in").inc(result.tokens_in)
        self.tokens.labels("out").inc(result.tokens_out)
        if result.effort is not None:
            self.efforts.labels(result.effort.why or ("all" if result.effort.read else "instant")).inc()


class _Route(APIRoute):
    """A path whose errors are lamr's, also those of reading a body and of writing an answer."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            with own_errors():
                return await handle(request)

        return answer


def create_app(
    make_pruner: Callable[[], AsyncPruner],
    limits: HttpLimits | None = None,
    texts: Texts | None = None,
    root: Path | None = None,
    using: Using | None = None,
) -> FastAPI:
    """Make the application.

    Args:
        make_pruner: gives the pruner; called in a thread when the application starts.
        limits: on bodies, requests at once, time, and the names that the server is asked by.
        texts: keep the originals that requests ask to keep; None for the user's own.
        root: the folder whose repositories may be packed; None: there are no packs.
        using: the model of packs and what keeps their indexes, as for `lamr_repositories.pack`.

    Raises:
        RepositoryError: the root is no folder."""
    limits = limits or HttpLimits()
    metrics = _Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try_first()
        async with await asyncio.to_thread(make_pruner) as pruner:
            await pruner.warm()
            app.state.pruner = pruner
            yield

    app = FastAPI(
        title="lamr",
        description="Prunes source code for a question.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own page loads scripts from elsewhere
        redoc_url=None,
    )
    app.router.route_class = _Route
    app.middleware("http")(_measured(metrics))
    app.add_middleware(LimitMiddleware, limits=limits)
    app.add_middleware(HostMiddleware, hosts=limits.hosts)
    app.add_exception_handler(LamrError, _as_status)
    app.add_exception_handler(RequestValidationError, _as_details)
    app.add_exception_handler(HTTPException, _as_refused)
    _add_state(app, metrics)
    _add_paths(app, metrics, texts or Texts(default_texts()))
    if root is not None:
        if not root.is_dir():
            raise RepositoryError(f"{root} is no folder", path=root)
        _add_packs(app, root.resolve(), using or {})
    _add_page(app, root and root.resolve())
    return app


def _measured(
    metrics: _Metrics,
) -> Callable[[Request, Callable[[Request], Awaitable[Response]]], Awaitable[Response]]:
    async def measure(request: Request, pass_on: Callable[[Request], Awaitable[Response]]) -> Response:
        begin = time.perf_counter()
        trace = request.headers.get(TRACE_METADATA, "")
        with metrics.under_way.track_inprogress(), in_trace(trace if is_traceparent(trace) else None):
            response = await pass_on(request)
        route = request.scope.get("route")
        path = getattr(route, "path", "other")
        metrics.requests.labels(path, str(response.status_code)).inc()
        metrics.seconds.labels(path).observe(time.perf_counter() - begin)
        return response

    return measure


async def _as_status(_request: Request, error: Exception) -> JSONResponse:
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    facts = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float)}
    body = {"error": type(error).__name__, "message": str(error), "facts": facts}
    wait = error.retry_after if isinstance(error, QuotaExceededError) else RETRY_SECONDS
    headers = {"Retry-After": str(math.ceil(wait))} if status in _LATER else None
    return JSONResponse(body, status, headers)


async def _as_refused(_request: Request, error: Exception) -> JSONResponse:
    """Errors of the framework, such as a body that it can't parse, in the form of all errors."""
    assert isinstance(error, HTTPException)
    body = {"error": InvalidInputError.__name__, "message": str(error.detail), "facts": {}}
    return JSONResponse(body, error.status_code, error.headers)


async def _as_details(_request: Request, error: Exception) -> Response:
    """A body's errors, in FastAPI's shape but without the body's own values: NaN and half characters among
    them couldn't be sent, and code needn't go back."""
    assert isinstance(error, RequestValidationError)
    details = [
        {"type": each["type"], "loc": each["loc"], "msg": each["msg"].removeprefix(_PREFIX)}
        for each in error.errors()[:MOST_DETAILS]
    ]
    return Response(json.dumps({"detail": details}), 422, media_type="application/json")


def _keep(texts: Texts, body: PruneBody, result: PruneResult, url: str) -> dict[str, str]:
    """Keep a cut text's original where that was asked for; what the answer gets for it."""
    if not body.keep_original or not result.cuts:
        return {}
    archive = Archive(texts, f"curl -s {url}v1/show/", "")
    lines = len(split_lines(body.code))
    undo = archive.how_to_show(body.code, *largest_cut(result.kept_lines, lines))
    return {
        "key": archive.keep(body.code),
        "note": note(len(result.kept_lines), lines, undo, numbers=[(1, lines)]),
    }


def _add_state(app: FastAPI, metrics: _Metrics) -> None:
    asking, until = asyncio.Lock(), 0.0
    known: LamrError | None = None

    async def trouble() -> LamrError | None:
        nonlocal until, known
        async with asking:
            if time.monotonic() >= until:
                known = None
                try:
                    await app.state.pruner.check(ASK_SECONDS)
                except LamrError as error:
                    known = error
                until = time.monotonic() + KEPT_SECONDS
            return known

    @app.get(
        "/health", summary="Whether requests would be answered, and by which model, as SWE-Pruner says it"
    )
    async def health() -> JSONResponse:
        spec, ready = app.state.pruner.spec, await trouble() is None
        status = "healthy" if ready else "unhealthy"
        body = {"status": status, "model_loaded": ready, "model": f"{spec.name} {spec.version}"}
        return JSONResponse(body, 200 if ready else 503)

    @app.get("/livez", summary="Liveness: this process answers, whatever is behind it")
    async def live() -> PlainTextResponse:
        return PlainTextResponse("ok\n")

    @app.get("/readyz", summary="Readiness: requests would be answered, by the server behind if there is one")
    async def ready() -> PlainTextResponse:
        why = await trouble()
        said = "ok" if why is None else f"{type(why).__name__}: {visible(str(why))}"
        return PlainTextResponse(f"{said}\n", 200 if why is None else 503)

    @app.get("/metrics", summary="Figures for Prometheus", include_in_schema=False)
    async def figures() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _add_paths(app: FastAPI, metrics: _Metrics, texts: Texts) -> None:
    @app.post("/v1/prune", summary="Prune a file, with every option and every field of the result")
    async def prune(body: PruneBody, request: Request) -> JSONResponse:
        result = await app.state.pruner.prune(**body.options())
        metrics.count(result)
        kept = await asyncio.to_thread(_keep, texts, body, result, str(request.base_url))
        return JSONResponse(result.to_dict() | kept)

    @app.get(
        "/v1/show/{place}", summary="Lines of a kept original, as they were: KEY, KEY:155 or KEY:155-326"
    )
    async def show(place: str) -> PlainTextResponse:
        return PlainTextResponse(await asyncio.to_thread(texts.lines, Place.parse(place)))

    @app.post("/prune", summary="Prune a file as SWE-Pruner's service does")
    async def prune_as_swe_pruner(body: SwePrunerBody) -> SwePrunerAnswer:
        try:
            result = await app.state.pruner.prune(
                body.query,
                body.code,
                threshold=body.threshold,
                keep=(1,) if body.always_keep_first_frags else (),
                repair=False,
                markers=SWE_PRUNER,
                **_IN_FULL,
            )
        except InvalidInputError as error:  # that service, too, answers with the code as it came
            return SwePrunerAnswer(
                pruned_code=body.code.encode(
                    "utf-8", "replace"
                ).decode(),  # a lone surrogate couldn't be sent
                kept_frags=list(range(1, len(split_lines(body.code)) + 1)),
                error_msg=f"{type(error).__name__}: {error}",
            )
        metrics.count(result)
        return _swe_pruners(body.code, result)

    async def relevances(query: str, documents: Sequence[str]) -> list[tuple[int, float]]:
        results = await asyncio.gather(
            *(app.state.pruner.prune(query, each, **_IN_FULL) for each in documents)
        )
        scored = [(index, result.relevance or 0.0) for index, result in enumerate(results)]
        return sorted(scored, key=lambda each: -each[1])

    @app.post("/v1/rerank", summary="Rank documents by relevance, as Cohere's rerank does")
    async def rerank(body: CohereBody) -> dict[str, Any]:
        texts = [each.text if isinstance(each, CohereDocument) else each for each in body.documents]
        ranked = (await relevances(body.query, texts))[: body.top_n]
        results: list[dict[str, Any]] = [{"index": at, "relevance_score": score} for at, score in ranked]
        if body.return_documents:
            results = [{**each, "document": {"text": texts[each["index"]]}} for each in results]
        return {"id": str(uuid.uuid4()), "results": results, "meta": {"api_version": {"version": "1"}}}

    @app.post("/rerank", summary="Rank texts by relevance, as text-embeddings-inference does")
    async def rerank_as_tei(body: TeiBody) -> list[dict[str, Any]]:
        ranked = await relevances(body.query, body.texts)
        results: list[dict[str, Any]] = [{"index": at, "score": score} for at, score in ranked]
        if body.return_text:
            results = [{**each, "text": body.texts[each["index"]]} for each in results]
        return results


def _add_packs(app: FastAPI, root: Path, using: Using) -> None:
    room = asyncio.Semaphore(MOST_PACKS)

    @app.post("/v1/pack", summary="Pack a repository below the root, with every field of the result")
    async def packed(body: PackBody) -> JSONResponse:
        folder = await asyncio.to_thread(_below, root, body.folder)
        options = PackOptions(task=body.task, form=body.format)
        async with room:
            result = await pack_async(folder, body.query, body.max_tokens, **(using | {"options": options}))
        return JSONResponse(result.to_dict())


def _below(root: Path, name: str) -> Path:
    """Return the folder of this name, wherever links lead. Raises `InvalidInputError`: it isn't one below the root."""
    try:
        folder = (root / name).resolve()
        if folder.is_relative_to(root) and folder.is_dir():
            return folder
    except (OSError, RuntimeError, ValueError):  # too long, a circle of links, NUL
        pass
    raise InvalidInputError(f"{name:.200} is no folder below the root", argument="folder")


def _add_page(app: FastAPI, root: Path | None) -> None:
    @app.get("/", summary="A page for people, which asks these paths", include_in_schema=False)
    async def for_people() -> HTMLResponse:
        folders = await asyncio.to_thread(_repositories, root) if root else []
        headers = {"Content-Security-Policy": f"{policy()}; frame-ancestors 'none'", **PAGE_HEADERS}
        return HTMLResponse(page({"root": root and root.name, "folders": folders}), headers=headers)


def _repositories(root: Path) -> list[str]:
    """Return the names of the repositories directly below the root."""
    return sorted(each.parent.name for each in root.glob("*/.git"))[:MOST_LISTED]


def _swe_pruners(code: str, result: PruneResult) -> SwePrunerAnswer:
    lines = zip(split_lines(code), result.line_scores, strict=True)
    scores: list[list[str | float]] = [[line.rstrip("\r\n") + "Ċ", score] for line, score in lines]
    return SwePrunerAnswer(
        score=result.relevance or 0.0,
        pruned_code=result.text,
        token_scores=scores,
        kept_frags=list(result.kept_lines),
        origin_token_cnt=result.tokens_in,
        left_token_cnt=result.tokens_out,
        model_input_token_cnt=result.tokens_in,
    )
