"""The documentation: links lead somewhere, the guide stays short, and what it tells people to type exists."""

import importlib.util
import pkgutil
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import typer
from lamr_cli.main import app

from benchmarks.newest.__main__ import page as newest_syntax

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
GUIDE = [path for path in sorted((ROOT / "docs").glob("*.md")) if path.name != "architecture.md"]
MOST_WORDS_A_PAGE = 640  # of the guide's pages on average; a page that says more is made up for by others
GROUPS = {"front", "research", "research judge"}
OTHERS_OPTIONS = {"--shm-size", "--trace-config", "--grpc-use-ssl", "--log-verbose"}  # docker's and Triton's
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```\w*\n(.*?)^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
IDS = [str(path.relative_to(ROOT)) for path in PAGES]


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def snippets(path: Path) -> list[str]:
    """Every line of code on a page, in blocks and in sentences, without comments."""
    code = ["".join(groups) for groups in CODE.findall(path.read_text(encoding="utf-8"))]
    return [line.removeprefix("$ ").split(" #")[0].strip() for text in code for line in text.splitlines()]


@cache
def commands() -> dict[str, set[str]]:
    """The options of every `lamr` command; a command of a group goes by both words, and the group has all of theirs."""
    return _options(typer.main.get_command(app).commands)


def _options(listed: dict) -> dict[str, set[str]]:
    found = {}
    for name, command in listed.items():
        options = {
            option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]
        }
        within = {f"{name} {word}": more for word, more in _options(getattr(command, "commands", {})).items()}
        found |= {name: options.union({"--help", "-h"}, *within.values()), **within}
    return found


def faults(line: str) -> list[str]:
    """What a line of code names that doesn't exist: `lamr` commands and options, modules, make targets."""
    words = shlex.split(line.replace("'", "").replace('"', ""))
    if words[:1] == ["lamr"] and len(words) > 1:
        if words[1].startswith("-"):
            return [word for word in words[1:] if word not in ("--help", "--version", "-h")]
        while words[1] in GROUPS and len(words) > 2 and re.fullmatch(r"[a-z]+", words[2]):
            words = [words[0], f"{words[1]} {words[2]}", *words[3:]]
        options = commands().get(words[1])
        if options is None:
            return [words[1]]
        given = [word.split("=")[0] for word in words[2:] if re.fullmatch(r"--?[a-z][\w-]*(=.*)?", word)]
        return [option for option in given if option not in options]
    if "-m" in words and words[0].startswith(("python", "accelerate")):
        module = words[words.index("-m") + 1]
        return [] if module == "benchmarks.NAME" or importlib.util.find_spec(module) else [module]
    if words[:1] == ["make"]:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        return [word for word in words[1:] if not re.search(rf"^{word}:", makefile, re.MULTILINE)]
    return []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(path), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_what_a_page_tells_to_type_exists(page: Path) -> None:
    wrong = {line: names for line in snippets(page) if line and (names := faults(line))}
    assert not wrong


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("lamr prune FILE -q x --max-tokens 3", []),
        ("lamr prune FILE --most-tokens 3", ["--most-tokens"]),
        ("lamr prone FILE", ["prone"]),
        ("lamr front drain one --undo", []),
        ("lamr front drane one", ["front drane"]),
        ("lamr front check --undo", ["--undo"]),
        ("python -m benchmarks.serving", []),
        ("python -m benchmarks.served", ["benchmarks.served"]),
        ("make tests", ["tests"]),
    ],
)
def test_what_does_not_exist_is_found(line: str, wrong: list[str]) -> None:
    assert faults(line) == wrong


def test_options_in_tables_exist() -> None:
    known = set().union(OTHERS_OPTIONS, *commands().values())
    for page in GUIDE:
        for option in re.findall(r"`(--[a-z][\w-]+)", page.read_text(encoding="utf-8")):
            assert option in known, f"{page.name} names {option}"


def test_the_guide_is_short() -> None:
    words = [
        word for page in GUIDE for word in page.read_text(encoding="utf-8").split() if re.search(r"\w", word)
    ]
    assert len(words) <= MOST_WORDS_A_PAGE * len(GUIDE)


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = [target.split("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8"))]
        waiting += [(page.parent / target).resolve() for target in targets if target and "://" not in target]
    assert set(PAGES) <= reached


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_modules_that_a_page_names_exist(page: Path) -> None:
    code = {path.name for folder in ROOT.glob("*/lamr_*") for path in folder.rglob("*.py")}
    code |= {
        path.name for folder in ("benchmarks", "docs", "tests") for path in (ROOT / folder).rglob("*.py")
    }
    text = page.read_text(encoding="utf-8")
    files = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", text)}
    assert files <= code | {"queue.py", "model.py"}, page.name
    for name in re.findall(r"`(lamr_\w+(?:\.\w+)+)`", text):
        assert pkgutil.resolve_name(name) is not None


def test_paths_that_code_names_exist() -> None:
    named = re.compile(r"(?<![\w/])((?:docs|benchmarks)/[\w/-]+\.(?:md|py|sh))")
    files = [
        path
        for folder in ("*/lamr_*", "model_repository")
        for root in ROOT.glob(folder)
        for path in root.rglob("*")
    ]
    for path in files:
        if path.suffix in (".py", ".pbtxt"):
            for name in named.findall(path.read_text(encoding="utf-8")):
                assert (ROOT / name).is_file(), f"{path.relative_to(ROOT)} names {name}"


def test_the_release_of_the_image_stands_in_one_place() -> None:
    release = re.search(r"^ARG TRITON=(\d\d\.\d\d)$", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE)
    assert release is not None
    places = [*GUIDE, ROOT / "README.md", *(path for path in (ROOT / "docker").rglob("*") if path.is_file())]
    again = re.compile(rf"tritonserver:\d|\b{re.escape(release[1])}-py3")
    assert [str(path) for path in places if again.search(path.read_text(encoding="utf-8"))] == []


def test_what_reads_the_newest_syntax_is_what_the_program_prints() -> None:
    assert f"\n\n{newest_syntax()}\n\n" in (ROOT / "docs/lab/repair.md").read_text(encoding="utf-8")
