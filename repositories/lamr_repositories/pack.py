"""`pack`: a question, a repository and a budget in, the code that matters out."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from lamr_base.cache import Cache
from lamr_base.errors import InvalidInputError
from lamr_client.prune_options import check_query, check_words
from lamr_model.counters import token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.query_truncation import Query
from lamr_model.scoring.scorer import Scorer
from lamr_model.spec import bundled_repository

from lamr_repositories.folders import Folder, NamedFiles
from lamr_repositories.formats import PackHead
from lamr_repositories.ignoring import literal
from lamr_repositories.options import OnProgress, PackOptions
from lamr_repositories.prepared import PackLineModel, Prepared, Tools
from lamr_repositories.remote import fetched, is_url, name_of
from lamr_repositories.result import PackResult
from lamr_repositories.revisions import Revision, is_bare
from lamr_repositories.sources import MOST_BYTES, FileSource, ListedFile
from lamr_repositories.walk import IGNORE_FILE, WalkOptions, own_patterns

if TYPE_CHECKING:
    from typing_extensions import Unpack


def unique(names: Sequence[str]) -> list[str]:
    """Return names of which none equals another: a later one of the same gets a number."""
    found: list[str] = []
    for name in names:
        numbered = (name, *(f"{name}-{number}" for number in range(2, len(names) + 1)))
        found.append(next(each for each in numbered if each not in found))
    return found


class Several(FileSource):
    """The files of several sources, below their names."""

    def __init__(self, sources: Mapping[str, FileSource]) -> None:
        """Take the sources by their names, which have no slash."""
        self._sources = sources
        self.name = "\n".join(f"{name} {source.name}" for name, source in sources.items())

    def files(self) -> Iterator[ListedFile]:
        """Yield all files, each path below its source's name."""
        for name, source in self._sources.items():
            for each in source.files():
                yield replace(each, path=f"{name}/{each.path}")

    def read(self, path: str, most: int = MOST_BYTES) -> bytes | None:
        """Return a file's bytes. The ignore file of all has the patterns of each one's own."""
        if path == IGNORE_FILE:
            rows = [
                _below(name, row) for name in self._sources for row in own_patterns(self._sources[name], most)
            ]
            return b"\n".join(rows)
        name, _, inside = path.partition("/")
        return self._sources[name].read(inside, most) if name in self._sources else None

    def read_all(self, listed: Sequence[ListedFile]) -> Generator[tuple[ListedFile, bytes | None]]:
        """Yield files with their bytes, in the order given."""
        for name, group in itertools.groupby(listed, lambda each: each.path.partition("/")[0]):
            given = list(group)
            inside = [replace(each, path=each.path.partition("/")[2]) for each in given]
            read = self._sources[name].read_all(inside)
            yield from ((each, data) for each, (_, data) in zip(given, read, strict=True))


def _below(name: str, pattern: bytes) -> bytes:
    """Return a pattern as it reads one folder further up. A slash in or before a pattern ties it to its folder."""
    if not pattern.strip() or pattern.startswith(b"#"):
        return pattern
    sign, rest = (b"!", pattern[1:]) if pattern.startswith(b"!") else (b"", pattern)
    anywhere = b"" if b"/" in rest.rstrip(b"/ ") else b"**/"
    return sign + b"/" + os.fsencode(literal(name)) + b"/" + anywhere + rest.lstrip(b"/")


_FOREIGN = (
    "the model doesn't read the question's language: files were ranked by the words of it that they have; "
    "ask in English for a better answer"
)

Root = str | os.PathLike[str]
"""A repository: its folder or its URL."""


class Using(TypedDict, total=False):
    """What `pack`, `pack_async` and `prepare` take by keyword, all of it optional, beside the fields of `PackOptions`.

    Attributes:
        model: the folder of a model repository, whose line model ranks; default the bundled one.
        cache: a file that keeps indexes for later questions; None keeps nothing. A broken one is set aside, and the
            result's notes say so.
        on_progress: called with a stage's name, what is done of it and how much there is.
        options: what keywords don't say."""

    model: str | os.PathLike[str] | None
    cache: str | os.PathLike[str] | None
    on_progress: OnProgress | None
    options: PackOptions | None
    revision: str | None
    task: str
    names: tuple[str, ...] | None
    walk: WalkOptions
    form: str
    order: str
    line_numbers: bool
    tokenizer: str | Path | None


def pack(
    root: Root | Sequence[Root], query: str, max_tokens: int = 32_000, **using: Unpack[Using]
) -> PackResult:
    """Choose the lines of a repository that a question is about, within a budget of tokens.

    Args:
        root: the repository's folder; a bare repository, of which `HEAD` is packed unless options name another
            revision; or a URL, which git fetches. Several of these make one pack, in which each file's path begins with
            its repository's name; a second one of the same name gets a number.
        query: what is looked for.
        max_tokens: the most tokens of the finished text, everything in it included; `options` has its own, which this
            takes the place of.
        using: see `Using`.

    Raises:
        RepositoryError: the root, the revision or a pattern can't be used, or git can't fetch the URL.
        InvalidInputError: the query or an option can't be used.
        BudgetError: not even the head of the pack fits into the budget.
        TypeError: there is no such keyword.
        ModelMismatchError: the model repository can't be used."""
    with _prepared(root, query, replace(_options(using), max_tokens=max_tokens), using) as prepared:
        return prepared.pack()


async def pack_async(
    root: Root | Sequence[Root], query: str, max_tokens: int = 32_000, **using: Unpack[Using]
) -> PackResult:
    """`pack` without blocking the event loop: it runs in a thread. Arguments and errors are the same."""
    import asyncio  # noqa: PLC0415  # for this alone

    return await asyncio.to_thread(functools.partial(pack, root, query, max_tokens, **using))


def prepare(
    root: Root | Sequence[Root], query: str, **using: Unpack[Using]
) -> contextlib.AbstractContextManager[Prepared]:
    """Do all of `pack` but the sharing of the budget, so that several budgets and formats share the rest.

    Arguments and errors are those of `pack`; the budget of `options` is the largest that will be asked
    for."""
    return _prepared(root, query, _options(using), using)


@contextlib.contextmanager
def _prepared(
    root: Root | Sequence[Root], query: str, options: PackOptions, using: Using
) -> Iterator[Prepared]:
    check_query(query)
    check_words(options.task, "task")
    on_progress = using.get("on_progress") or (lambda *_: None)
    repository = bundled_repository() if (model := using.get("model")) is None else Path(model)
    encoder, scorer = _loaded(repository)
    words = PackLineModel(scorer, encoder, Query(query, options.task))
    notes = [] if words.reads or not scorer.instant else [_FOREIGN]
    with contextlib.ExitStack() as stack:
        begin = time.perf_counter()
        roots = [root] if isinstance(root, (str, os.PathLike)) else root
        given = [os.fspath(each) for each in roots]
        source, name = _sources(given, options, stack, on_progress)
        fetch = time.perf_counter() - begin if any(map(is_url, given)) else 0.0
        file = using.get("cache")
        cache = stack.enter_context(Cache(None if file is None else Path(file), notes.append))
        counter = token_counter(options.tokenizer, encoder)
        yield Prepared(
            source, PackHead(query, name), options, Tools(counter, cache, words, on_progress, notes, fetch)
        )


@functools.lru_cache(maxsize=2)
def _loaded(repository: Path) -> tuple[PromptEncoder, Scorer]:
    """Return a model's prompt and line model, which a process that packs often reads once."""
    encoder = PromptEncoder.from_repository(repository)
    return encoder, Scorer.from_repository(repository, encoder.spec)


def _options(using: Using) -> PackOptions:
    """The options that keywords give."""
    known = {each.name for each in fields(PackOptions)} - {"max_tokens"}
    if wrong := using.keys() - Using.__annotations__.keys():
        raise TypeError(
            f"there is no keyword {', '.join(sorted(wrong))}; there are {', '.join(Using.__annotations__)}"
        )
    given: dict[str, Any] = {name: value for name, value in using.items() if name in known}
    return replace(using.get("options") or PackOptions(), **given)


def _sources(
    roots: Sequence[str], options: PackOptions, stack: contextlib.ExitStack, on_progress: OnProgress
) -> tuple[FileSource, str]:
    """Return where the files come from, and what the repository, or all of several, are called."""
    if len(roots) == 1:
        return _source(roots[0], options, stack, on_progress)
    if not roots or options.names is not None or options.revision is not None:
        raise InvalidInputError(
            "give a repository" if not roots else "a revision and a list of files are of one repository",
            argument="root",
        )
    sources, names = zip(*(_source(root, options, stack, on_progress) for root in roots), strict=True)
    named = dict(zip(unique([name or "root" for name in names]), sources, strict=True))
    return Several(named), ", ".join(named)


def _source(
    root: str, options: PackOptions, stack: contextlib.ExitStack, on_progress: OnProgress
) -> tuple[FileSource, str]:
    """Return where one repository's files come from, and its name."""
    if is_url(root):
        if options.names is not None:
            raise InvalidInputError("a list of files is of a folder, not of a URL", argument="names")
        place, revision = stack.enter_context(fetched(root, options.revision, on_progress))
        return Revision(place, revision, root), name_of(root)
    folder = Path(root)
    name = folder.absolute().name
    if options.names is not None:
        return NamedFiles(folder, options.names), name
    if options.revision is not None or is_bare(folder):
        return Revision(folder, options.revision or "HEAD"), name
    return Folder(folder), name
