"""The projects that are for evaluation only: nothing that trains, fits or tunes anything may read them.

This is the one table of them. It answers for a package's name, a repository's name and a file's path (a copy of a
project inside another one).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lamr_evaluation.errors import ReservedError


@dataclass(frozen=True)
class Reserved:
    """A project, or a collection of recorded sessions, that only evaluations may read.

    Attributes:
        repository: `owner/name` on GitHub.
        packages: names that it has on package indexes, and that copies of it have in other projects.
        copies: names of folders that hold a copy of it, at whatever depth they lie.
        common: whether the name is an everyday word, so that it alone doesn't tell a fork or a copy.
    """

    repository: str
    packages: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    common: bool = False

    @property
    def name(self) -> str:
        """The repository's name without its owner."""
        return self.repository.split("/")[1]


BENCHMARK = (
    Reserved("celery/celery", ("celery",)),
    Reserved("marshmallow-code/marshmallow", ("marshmallow",)),
    Reserved("networkx/networkx", ("networkx",)),
    Reserved("pallets/click", ("click",), common=True),
    Reserved("pallets/flask", ("flask",)),
    Reserved("pallets/jinja", ("jinja2",)),
    Reserved("pallets/werkzeug", ("werkzeug",)),
    Reserved("paramiko/paramiko", ("paramiko",)),
    Reserved("psf/requests", ("requests",), common=True),
    Reserved("pydantic/pydantic", ("pydantic", "pydantic-core")),
    Reserved("scrapy/scrapy", ("scrapy",)),
    Reserved("Textualize/rich", ("rich",), common=True),
)
"""The projects of this package's own benchmark."""

PACKED = (
    Reserved("bigskysoftware/htmx", ("htmx.org",)),
    Reserved("caddyserver/caddy"),
    Reserved("wagtail/wagtail", ("wagtail",)),
)
"""The projects of the questions about whole repositories (`data/repository-questions.jsonl`)."""

SWE_BENCH = (
    Reserved("astropy/astropy", ("astropy",)),
    Reserved("django/django", ("django",)),
    Reserved("matplotlib/matplotlib", ("matplotlib",)),
    Reserved("mwaskom/seaborn", ("seaborn",)),
    Reserved("pydata/xarray", ("xarray",)),
    Reserved("pylint-dev/pylint", ("pylint",)),
    Reserved("pytest-dev/pytest", ("pytest",), ("_pytest",)),
    Reserved("scikit-learn/scikit-learn", ("scikit-learn", "sklearn"), ("sklearn",)),
    Reserved("sphinx-doc/sphinx", ("sphinx",)),
    Reserved("sympy/sympy", ("sympy",)),
)
"""SWE-bench's projects that the benchmark doesn't hold already."""

OTHER_EVALUATIONS = (
    Reserved("conan-io/conan", ("conan",)),
    Reserved("encode/httpx", ("httpx",)),
    Reserved("python/cpython", (), ("_distutils", "distutils", "lib2to3", "blib2to3")),
    Reserved("reflex-dev/reflex", ("reflex",), common=True),
    Reserved("streamlink/streamlink", ("streamlink",)),
    # JavaScript and TypeScript
    Reserved("axios/axios", ("axios",)),
    Reserved("excalidraw/excalidraw", ("excalidraw",)),
    Reserved("expressjs/express", ("express",), common=True),
    Reserved("koajs/koa", ("koa",)),
    Reserved("nestjs/nest", ("nestjs",), common=True),
    Reserved("TanStack/query", ("react-query", "tanstack"), common=True),
    Reserved("vuejs/core", ("vue",), common=True),
    # Go
    Reserved("gin-gonic/gin", ("gin",)),
    Reserved("gofiber/fiber", ("gofiber",), common=True),
    Reserved("labstack/echo", ("labstack",), common=True),
    Reserved("spf13/cobra", ("cobra",)),
    # Rust
    Reserved("BurntSushi/ripgrep", ("ripgrep",)),
    Reserved("sharkdp/bat", ("bat",), common=True),
    Reserved("tokio-rs/axum", ("axum",)),
    Reserved("tokio-rs/mini-redis", ("mini-redis",)),
    # Java
    Reserved("apache/commons-lang", ("commons-lang", "commons-lang3")),
    Reserved("google/gson", ("gson",)),
    Reserved("square/retrofit", ("retrofit",)),
    # C
    Reserved("curl/curl", ("libcurl",)),
    Reserved("jqlang/jq", ("libjq",)),
    Reserved("libuv/libuv", ("libuv", "uv"), common=True),
    Reserved("redis/redis", (), common=True),
    Reserved("tmux/tmux", ("tmux",)),
    # C++
    Reserved("fmtlib/fmt", ("fmt", "fmtlib"), common=True),
    Reserved("gabime/spdlog", ("spdlog",), ("spdlog",)),
    Reserved("google/leveldb", ("leveldb",)),
    Reserved("nlohmann/json", ("nlohmann-json",), ("nlohmann",), common=True),
    # C#
    Reserved("App-vNext/Polly", ("polly",)),
    Reserved("DapperLib/Dapper", ("dapper",)),
    Reserved("JamesNK/Newtonsoft.Json", ("newtonsoft-json",)),
    # Ruby
    Reserved("jekyll/jekyll", ("jekyll",)),
    Reserved("rack/rack", ("rack",), common=True),
    Reserved("sinatra/sinatra", ("sinatra",)),
    # PHP
    Reserved("guzzle/guzzle", ("guzzle",)),
    Reserved("laravel/framework", ("laravel",), common=True),
    Reserved("symfony/console", ("symfony-console",), common=True),
)
"""Projects that other evaluations of this pruner ask about."""

CONTEXTS = (
    Reserved("ansible/ansible", ("ansible", "ansible-core"), common=True),
    Reserved("clap-rs/clap", ("clap",), common=True),
    Reserved("cli/cli", (), common=True),
    Reserved("facebook/zstd", ("libzstd",)),
    Reserved("FasterXML/jackson-core", ("jackson-core",)),
    Reserved("FasterXML/jackson-databind", ("jackson-databind",)),
    Reserved("huggingface/transformers", ("transformers",), common=True),
    Reserved("iamkun/dayjs", ("dayjs",)),
    Reserved("internetarchive/openlibrary", ("openlibrary",)),
    Reserved("keras-team/keras", ("keras",)),
    Reserved("langchain-ai/langchain", ("langchain", "langchain-core", "langchain-community")),
    Reserved("mui/material-ui", ("material-ui",)),
    Reserved("NodeBB/NodeBB", ("nodebb",)),
    Reserved("rayon-rs/rayon", ("rayon",)),
    Reserved("sveltejs/svelte", ("svelte",)),
    Reserved("tokio-rs/tracing", (), common=True),
)
"""The projects of ContextBench's instances that no other evaluation here holds already."""

SESSIONS = (
    Reserved("amazon-science/SWE-PolyBench"),
    Reserved("benchflow-ai/skillsbench-trajectories"),
    Reserved("gruckion/mini-swe-agent"),
    Reserved("multi-swe-bench/experiments", common=True),
    Reserved("Nobbettt/ContextBench"),
    Reserved("piyushhhxyz/vorflux-swe-benchmarks"),
    Reserved("SWE-bench/experiments", common=True),
    Reserved("Whamp/deep-swe-bench"),
)
"""Repositories with tasks, or recorded sessions of agents, on projects of this table."""

RESERVED = (*BENCHMARK, *PACKED, *SWE_BENCH, *OTHER_EVALUATIONS, *CONTEXTS, *SESSIONS)

_VENDORED = """
    _vendor _vendored vendor vendored vendors third_party third-party thirdparty 3rdparty extern externals external deps
    node_modules godeps
    """
VENDOR_FOLDERS = frozenset(_VENDORED.split())
"""Folders that hold copies of other projects."""

_SOURCE_ROOTS = frozenset({"src", "lib", "include"})
_VERSION = re.compile(r"[-_@]v?\d[\w.+-]*$")


def normalized(name: str) -> str:
    """A package's name as PyPI compares it: lower case, with `-` for any run of `-`, `_` and `.`."""
    return re.sub(r"[-_.]+", "-", name).lower()


_BY_REPOSITORY = {project.repository.lower(): project for project in RESERVED}
_BY_PACKAGE = {normalized(name): project for project in RESERVED for name in project.packages}
_BY_NAME = {**{normalized(project.name): project for project in RESERVED}, **_BY_PACKAGE}
_BY_COPY = {name: project for project in RESERVED for name in project.copies}


def reserved_package(name: str) -> Reserved | None:
    """The reserved project that a package index lists under `name`, in any spelling."""
    return _BY_PACKAGE.get(normalized(name))


def refuse_reserved(packages: Iterable[str]) -> None:
    """Check the names of packages that are to be trained on.

    Raises:
        ReservedError: some are for evaluation only.
    """
    reserved = [name for name in packages if reserved_package(name)]
    if reserved:
        raise ReservedError(
            f"{', '.join(reserved)}: kept for evaluation, so that training never sees it; leave it out"
        )


def reserved_repository(repository: str) -> Reserved | None:
    """The reserved project that `owner/name` is, or is a fork of.

    A repository of the same name under another owner counts as a fork, except where the name is an everyday word.
    """
    exact = _BY_REPOSITORY.get(repository.lower())
    if exact:
        return exact
    name = normalized(repository.rsplit("/", 1)[-1].removesuffix(".git"))
    return next((p for p in RESERVED if not p.common and normalized(p.name) == name), None)


def reserved_path(path: str) -> Reserved | None:
    """The reserved project that the file at `path` is a copy of, as far as the path tells.

    Copies are recognized in folders for vendored code (`deps/redis/src/ae.c`), after their owner
    (`github.com/spf13/cobra/args.go`), by folders that only such copies have, and, unless the name is an everyday word,
    at the root of a source tree. A folder for support of a project, such as `integrations/django`, isn't a copy.

    Args:
        path: of a file in a package or repository, with `/` between its parts.
    """
    *folders, file = path.lower().split("/")
    parts = [normalized(_VERSION.sub("", part)) for part in (*folders, file.split(".")[0])]
    vendored = False
    for place, folder in enumerate(folders):
        owned = _BY_REPOSITORY.get(f"{folders[place - 1]}/{folder}") if place else None
        named = _BY_NAME.get(parts[place])
        rooted = place == 0 or folders[place - 1] in _SOURCE_ROOTS
        copied = named if named and (vendored or (rooted and not named.common)) else None
        project = _BY_COPY.get(folder) or owned or copied
        if project:
            return project
        vendored = vendored or folder in VENDOR_FOLDERS
    return _BY_NAME.get(parts[-1]) if vendored else None
