"""Arguments that several commands share, and how their text becomes values."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, cast

import typer
from lamr_base.choices import ProfileName
from lamr_base.expressions import expression
from typer import Option

from lamr_cli.printing import read_input

if TYPE_CHECKING:
    from lamr_postprocess import DecodedFile


LineRange = tuple[int, int]
MOST_CODE_BYTES = 256 << 20  # Of one file; what has more is no code, or has no end, as a device

Query = Annotated[str, Option("--query", "-q", help="What you are looking for, as a question or words.")]
Task = Annotated[
    str,
    Option(
        help="The task behind the query, such as an issue's text, of any length. If it is long, the model reads the "
        "parts that fit the file best.",
        metavar="TEXT|@FILE",
    ),
]

History = Annotated[
    str,
    Option(
        help="What the agent said before the query. The last 3,000 characters count most.",
        metavar="TEXT|@FILE",
    ),
]


def _none_if_empty(server: str | None) -> str | None:
    """An empty `--server` takes the place of the one in `lamr.toml`, and names none."""
    return server or None


Server = Annotated[
    str | None,
    Option(
        help="HOST:PORT of a server's gRPC port (see `lamr serve`), or https://HOST of a front, with its key in "
        "LAMR_API_KEY and its certificate's authority in LAMR_CA. Without it, the model runs in this process.",
        envvar="LAMR_SERVER",
        show_default=False,
        callback=_none_if_empty,
    ),
]
Language = Annotated[
    str | None,
    Option("--language", "-l", help="The code's language; default: by the file's name, then by its content."),
]
Model = Annotated[
    Path | None,
    Option(
        help="A model repository written by `lamr export`; default: the bundled lamr-mini.",
        show_default=False,
    ),
]
LineNumbers = Annotated[
    bool, Option("--line-numbers", "-n", help="Put original line numbers before the lines.")
]
AsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, Option("--quiet", help="Print no summary and no progress on stderr.")]
CacheFile = Annotated[
    Path | None,
    Option(help="File that keeps indexes and the model's answers; default: in your cache folder."),
]
NoCache = Annotated[bool, Option("--no-cache", help="Don't use a cache.")]
Timeout = Annotated[float, Option(help="Seconds to wait for the whole answer.", min=0.001)]
Tokenizer = Annotated[
    str | None,
    Option(
        help="How to count tokens: o200k (GPT), cl100k, claude (of 2023), qwen or llama, each by a table within 3 %; "
        "any, an upper bound for all large models; model, the pruning model's own tokenizer; or the path of a "
        "tokenizer.json. Default: o200k.",
        metavar="NAME|FILE",
        show_default=False,
    ),
]


Profile = Annotated[
    ProfileName | None,
    Option(
        help="How much to cut. lossless replaces only lines that the agent still has in its context; careful, balanced "
        "and eager also cut other lines, each more than the one before. Default: careful."
    ),
]
EFFORT_HELP = (
    "How much the encoder reads. instant: nothing, so the line model answers alone in milliseconds; auto: the chunks "
    "that the line model is unsure about, the best first; full: every chunk."
)
Within = Annotated[
    float | None,
    Option(
        help="Answer within so many seconds, with the chunks read by then.", min=0.001, show_default=False
    ),
]

Degrade = Annotated[
    bool,
    Option(
        "--degrade/--no-degrade",
        help="If the server fails, answer by the line model; with --no-degrade, exit with an error.",
    ),
]

_RANGE = expression(r"(\d+)(?:-(\d+))?")


def read_code(file: str, query: str) -> DecodedFile:
    """Return the text of a file, or of standard input for `-`, with its newlines as they are, and its encoding."""
    from lamr_base.files import naming
    from lamr_client import InvalidInputError
    from lamr_client.prune_options import decode_code

    if not file:
        raise InvalidInputError("the file name is empty", argument="file")
    if file != "-" and Path(file).is_dir():
        command = shlex.join(["lamr", "pack", file, "-q", query])
        raise InvalidInputError(f"{file} is a folder, and this command takes one file: {command}")
    if file == "-":
        data = read_input(MOST_CODE_BYTES + 1)
    else:
        with naming(file), Path(file).open("rb") as stream:  # a pipe as well, as of `<(git show …)`
            data = stream.read(MOST_CODE_BYTES + 1)
    if len(data) > MOST_CODE_BYTES:
        raise InvalidInputError(
            f"{file} has more than {MOST_CODE_BYTES >> 20} MiB; name a part of it", argument="file"
        )
    return decode_code(data)


def read_words(option: str, text: str) -> str:
    """Return what an option such as `--task` names: the text itself, or for `@FILE` what the file holds."""
    from lamr_client import InvalidInputError
    from lamr_client.prune_options import decode_code

    if not text.startswith("@"):
        return text
    try:
        return decode_code(Path(text[1:]).read_bytes()).text
    except (OSError, InvalidInputError) as error:
        raise typer.BadParameter(f"{option} {text}: can't be read as text ({error})") from error


def cache_file(cache: Path | None, no_cache: bool, default: Path | None) -> Path | None:
    """Return the file that `--cache` and `--no-cache` mean, where a command has a default; None keeps nothing."""
    if no_cache and cache is not None:
        raise typer.BadParameter("give --cache or --no-cache, not both")
    return None if no_cache else cache or default


def parse_keep(texts: list[str]) -> tuple[LineRange | str, ...]:
    """Return what `--keep` names: 1-based line ranges for `10-20` and `7`, the expression for `/regex/`, unread."""
    return tuple(_parse_one(text) for text in texts)


def _parse_one(text: str) -> LineRange | str:
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return text[1:-1]
    match = _RANGE.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"--keep {text}: give a line (7), a range (10-20) or /a regular expression/")
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last:
        raise typer.BadParameter(f"--keep {text}: lines are numbered from 1, and a range goes upwards")
    return first, last


# What opens a server comes from the environment: every user of a machine can read its programs' arguments.
_VARIABLES = {"api_key": "LAMR_API_KEY", "ca": "LAMR_CA", "cert": "LAMR_CERT", "key": "LAMR_CERT_KEY"}
_FOR_TLS = ("ca", "cert", "key")


class Credentials(TypedDict, total=False):
    """Arguments of `Pruner` and `server_status`."""

    api_key: str
    ca: str
    cert: str
    key: str


def credentials(server: str | None) -> Credentials:
    """Return what the environment holds for a server, as arguments of `Pruner`; nothing without a server."""
    if server is None:
        return {}
    names = [name for name in _VARIABLES if server.startswith("https://") or name not in _FOR_TLS]
    found = {name: os.environ[_VARIABLES[name]] for name in names if os.environ.get(_VARIABLES[name])}
    return cast(Credentials, found)
