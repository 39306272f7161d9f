"""Records out of a repository that the test makes: which commits give them, and what they hold."""

import subprocess
from pathlib import Path

import pytest
from lamr_evaluation import mirrors as git
from lamr_evaluation.records import Record, read_records
from lamr_training.commits import (
    commit_records,
    gold_of,
    headers_of,
    is_source,
    main,
    query_of,
    write_commits,
)
from lamr_training.errors import CorpusError

from tests.training.repository import FILLER, FIXED, PARSER, TESTS
from tests.training.repository import Repository as Made

PLACES = 'for text in ("a:b", "c:d"):\n    print(parse_header(text))\n\n\n' + FILLER
PATHS = {"src/parser.py", "src/place.py"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of a dozen commits."""
    folder = tmp_path_factory.mktemp("mirror")
    made = Made(folder / "someone+headers")
    first = {"src/parser.py": PARSER, "src/main.py": PLACES, "tests/test_parser.py": "import parser\n"}
    made.commit("Read header lines from a text", first)
    made.commit(
        "fix: strip spaces around header values (#12)\n\nLower the name, too, since names of headers don't care "
        "for case.\n\nSigned-off-by: A <a@example.org>",
        {"src/parser.py": FIXED, "tests/test_parser.py": TESTS},
    )
    spaced = FIXED.replace("    return name.lower()", "    return  name.lower()")
    made.commit("Align the values that come back", {"src/parser.py": spaced})
    made.commit("Bump version to 2.0 for the release", {"src/parser.py": FIXED})
    made.commit("Fix typo in docstring of the parser", {"src/parser.py": FIXED.replace("Reads", "Read")})
    made.commit("Fix typo in docstring of the parser again", {"src/parser.py": FIXED})
    made.commit("Take headers from the network first", {"src/vendor/flask/app.py": FIXED})
    printed = FIXED.replace('":" + value', '" = " + value')
    other = {"src/vendor/flask/app.py": PARSER, "NEWS.md": "x"}
    made.commit("Print headers with an equals sign", {"src/parser.py": printed, **other})
    moved = {"src/place.py": PLACES, "src/main.py": None}
    made.commit("Put the main program into its own place", moved)
    made.commit(
        "Say which of the header lines is printed by main",
        {"src/place.py": PLACES.replace("    print(", "    print(text, ")},
    )
    made.git("checkout", "-q", "-b", "topic", "HEAD~1")
    made.commit("Add a table of headers to the documents", {"docs.md": "y"})
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--no-ff", "-m", "Merge the table of headers into main", "topic")
    return folder / "someone+headers"


def marked(record: Record) -> list[str]:
    return [record.lines[n - 1].strip() for n in record.kept_frags]


def test_a_commit_asks_for_the_lines_that_it_changed_in_the_parents_file(history: Path) -> None:
    records = list(commit_records(history / ".git", "someone/headers"))
    edits = [record for record in records if record.kind == "edit"]
    strip, sign, said = sorted(edits, key=lambda record: (record.path, "Print" in record.query))
    assert strip.code == PARSER
    assert marked(strip) == ["return name, value"]
    assert [strip.lines[n - 1] for n in strip.frame] == ["def parse_header(text):"]
    assert "#12" not in strip.query
    assert "Signed-off" not in strip.query
    assert (sign.query, marked(sign)) == ("Print headers with an equals sign", ['return name + ":" + value'])
    assert sign.code == FIXED
    assert (said.path, said.project, said.language) == ("src/place.py", "someone/headers", "python")
    assert marked(said) == ["print(parse_header(text))"]
    assert records == list(commit_records(history / ".git", "someone/headers"))
    assert len({record.id for record in records}) == len(records)


def test_some_queries_are_asked_again_where_nothing_answers(tmp_path: Path) -> None:
    made = Made(tmp_path / "many")
    names = [f"src/part{number}.py" for number in range(12)]
    made.commit("Begin with twelve parts", dict.fromkeys(names, FILLER))
    for number, name in enumerate(names):
        text = FILLER.replace("value + 3", f"value - {number}")
        made.commit(f"Take {'abcdefghijkl'[number] * 3} away from the value", {name: text})
    records = list(commit_records(made.folder / ".git", "someone/many"))
    absent = [record for record in records if record.kind == "absent"]
    assert len(records) - len(absent) == len(names)
    assert absent
    assert not any(record.score or record.kept_frags or record.frame for record in absent)


@pytest.mark.parametrize(
    "message",
    [
        "Merge the topic",
        "Bump version to 2.0",
        "Fix typo in the parser's words",
        "fixup! Strip all spaces",
        "More",
    ],
)
def test_messages_that_lead_to_no_lines_ask_nothing(message: str) -> None:
    assert query_of(message) == ""


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("src/a.py", True),
        ("packages/core/src/App.tsx", True),
        ("README.md", False),
        ("vendor/x/a.go", False),
        ("deps/redis/src/ae.c", False),
        ("js/app.min.js", False),
        ("api/a.pb.go", False),
        ("tests/a.py", False),
        ("src/test/java/ATest.java", False),
    ],
)
def test_only_code_that_the_project_wrote_by_hand_is_asked_about(path: str, source: bool) -> None:
    assert is_source(path) == source


def test_a_reserved_repository_is_refused_and_a_folder_without_one_named(
    history: Path, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError, match="psf/requests: kept for evaluation"):
        next(commit_records(history / ".git", "psf/requests"))
    with pytest.raises(CorpusError, match="neither a clone nor a bare repository"):
        write_commits([tmp_path], tmp_path)


def test_a_blob_that_a_mirror_lacks_costs_its_commits_only(history: Path) -> None:
    place = history / ".git"
    shas = [commit.sha for commit in git.commits(place, "HEAD")]
    whole = git.diffs(place, shas)
    gone = "f" * 40
    assert git.diffs(place, [*shas, gone]).keys() == whole.keys()
    assert git.blobs(place, [gone]) == {}
    assert git.sizes(place, [gone]) == {}


CODE = """import os

class Cache:
    def get(self, key):
        if key in self.items:
            return self.items[key]

        return None
"""
BRACES = """namespace N
{
  // where it begins
    int f(int a)
    {
        while (a)
        {
            if (a > 1)
                g();
            a--;
        }
    }
}
"""
LINES = CODE.split("\n")


@pytest.mark.parametrize(
    ("hunks", "gold"),
    [
        ([git.Hunk(6, ("            return self.items[key]",), ("            return 1",))], (6,)),
        ([git.Hunk(6, (), ("            log(key)",))], (6, 8)),
        ([git.Hunk(6, ("            return self.items[key]",), ("        return  self.items[key]",))], ()),
        ([git.Hunk(6, (), ("        # why",))], ()),
        ([git.Hunk(1, ("import os",), ("import re",))], ()),
        ([git.Hunk(6, (), tuple(f"            step({n})" for n in range(40)))], ()),
        (
            [
                git.Hunk(1, ("import os",), ("import re",)),
                git.Hunk(8, ("        return None",), ("        raise E",)),
            ],
            (8,),
        ),
    ],
)
def test_what_a_commit_changed_or_stands_around_what_it_put_in(
    hunks: list[git.Hunk], gold: tuple[int, ...]
) -> None:
    assert gold_of(hunks, LINES) == gold


def test_headers_are_the_lines_that_hold_the_gold_ones_also_above_a_brace_on_its_own_line() -> None:
    assert headers_of((6,), LINES) == (3, 4, 5)
    assert headers_of((3,), LINES) == ()
    lines = BRACES.split("\n")
    assert [lines[n - 1].strip() for n in headers_of((9,), lines)] == [
        "namespace N",
        "int f(int a)",
        "while (a)",
        "if (a > 1)",
    ]


def test_the_command_splits_by_file_and_refuses_what_is_kept_for_evaluation(
    history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(history), "-o", str(tmp_path / "out")])
    train, validation = (
        list(read_records(tmp_path / "out" / name)) for name in ("train.jsonl", "validation.jsonl")
    )
    assert capsys.readouterr().out.startswith(f"{len(train)} in {tmp_path}")
    expected = {record.id for record in commit_records(history / ".git", "someone/headers")}
    assert {record.id for record in (*train, *validation)} == expected
    assert not {record.path for record in train} & {record.path for record in validation}
    subprocess.run(
        ["git", "-C", str(history), "remote", "add", "origin", "git@example.org:psf/requests.git"], check=True
    )
    with pytest.raises(SystemExit, match="2"):
        main([str(history), "-o", str(tmp_path / "held")])
    assert "psf/requests: kept for evaluation" in capsys.readouterr().err
