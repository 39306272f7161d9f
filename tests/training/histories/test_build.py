"""Records out of a repository that the test makes: which commits give them, what they hold, and what comes twice."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from lamr_evaluation import histories as git
from lamr_evaluation.errors import DataError
from lamr_evaluation.mirrors import locate
from lamr_evaluation.records import Record, read_records
from lamr_training.errors import CorpusError
from lamr_training.histories.build import HistorySettings, build_histories
from lamr_training.records.manifest import Repository, write_histories
from lamr_training.records.parts import Repositories

from tests.training.records.repository import FILLER, FIXED, PARSER, TESTS
from tests.training.records.repository import Repository as Made

PLACES = 'for text in ("a:b", "c:d"):\n    print(parse_header(text))\n\n\n' + FILLER
PATHS = {"src/parser.py", "src/place.py"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Repository]:
    """A mirror with one repository of a dozen commits."""
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
    return folder, Repository("someone/headers", made.git("rev-parse", "HEAD"), "MIT", "python", "train")


def built(
    history: tuple[Path, Repository], output: Path, apart: Path | None = None, **changes: object
) -> list[Record]:
    folder, row = history
    place = functools.partial(locate, folder=folder)
    build_histories(Repositories([row], place, apart), output, settings=HistorySettings(**changes))
    return list(read_records(output / "train.jsonl"))


def marked(record: Record) -> list[str]:
    return [record.lines[n - 1].strip() for n in record.kept_frags]


def test_a_commit_asks_for_the_lines_that_it_changed_in_the_parents_file(
    history: tuple[Path, Repository], tmp_path: Path
) -> None:
    edits = [record for record in built(history, tmp_path) if record.kind == "edit"]
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


def test_files_come_out_the_same_and_what_is_done_is_not_done_again(
    history: tuple[Path, Repository], tmp_path: Path
) -> None:
    first = built(history, tmp_path / "a")
    again = built(history, tmp_path / "b")
    assert first == again
    assert len({record.id for record in first}) == len(first)
    (part,) = (tmp_path / "a" / "parts").glob("*.jsonl")
    part.write_text(first[0].to_json() + "\n", encoding="utf-8")
    assert built(history, tmp_path / "a") == first[:1]
    counts = json.loads((tmp_path / "a" / "counts.json").read_text())
    assert counts["train"]["languages"] == {"python": 1}
    assert len(built(history, tmp_path / "a", seed=1)) > 1


@pytest.fixture(scope="module")
def many(history: tuple[Path, Repository], tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Records of many seeds, so that each kind is among them."""
    folder = tmp_path_factory.mktemp("many")
    return [record for seed in range(25) for record in built(history, folder / str(seed), seed=seed)]


@pytest.mark.parametrize("kind", ["intent", "task", "error", "test", "grep", "absent"])
def test_every_kind_is_made(many: list[Record], kind: str) -> None:
    found = [record for record in many if record.kind == kind]
    assert found
    assert all(bool(record.kept_frags) == bool(record.score) == (kind != "absent") for record in found)


def test_an_error_asks_for_where_it_is_raised_and_why(many: list[Record]) -> None:
    raised = ["if not name:", 'raise HeaderError("the header line has no name at all")']
    assert all(marked(record) == raised for record in many if record.kind == "error")


def test_a_test_asks_for_the_lines_that_were_changed_with_it(many: list[Record]) -> None:
    for record in many:
        if record.kind == "test":
            assert "test_header_values_are_stripped" in record.query
            assert marked(record) == ["return name, value"]


def test_a_task_holds_what_matters_among_other_things(many: list[Record]) -> None:
    tasks = [record for record in many if record.kind == "task"]
    assert any("\n\n" in record.query for record in tasks)
    said = ("strip spaces around", "Print headers with", "Say which of the")
    assert all(any(words in record.query for words in said) for record in tasks)


def test_files_like_those_of_evaluations_are_left_out(
    history: tuple[Path, Repository], tmp_path: Path
) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(Record("q", PARSER.replace(FILLER, ""), (1,)).to_json() + "\n", encoding="utf-8")
    assert {record.path for record in built(history, tmp_path / "a", apart=items)} == PATHS
    items.write_text(Record("q", PARSER, (1,)).to_json() + "\n", encoding="utf-8")
    assert built(history, tmp_path / "b", apart=items) == []


def test_a_missing_repository_or_commit_is_named(history: tuple[Path, Repository], tmp_path: Path) -> None:
    folder, row = history
    gone = Repository("someone/else", row.commit, "MIT", "python", "train")
    with pytest.raises(
        DataError, match=r"someone/else: no bare repository at .*someone\+else; clone it there"
    ):
        built((folder, gone), tmp_path)
    old = Repository(row.repository, "1" * 40, "MIT", "python", "train")
    with pytest.raises(CorpusError, match=f"lacks commit {'1' * 40} of someone/headers; fetch it there"):
        built((folder, old), tmp_path)


def test_a_blob_that_a_mirror_lacks_costs_its_commits_only(
    history: tuple[Path, Repository], tmp_path: Path
) -> None:
    folder, row = history
    place = locate(row.repository, folder)
    shas = [commit.sha for commit in git.commits(place, row.commit)]
    whole = git.diffs(place, shas)
    gone = "f" * 40
    assert git.diffs(place, [*shas, gone]).keys() == whole.keys()
    assert git.blobs(place, [gone]) == {}
    assert git.sizes(place, [gone]) == {}


def lamr_corpus(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lamr_cli.main", "corpus", "histories", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_makes_records_and_names_what_it_cannot_do(
    history: tuple[Path, Repository], tmp_path: Path
) -> None:
    folder, row = history
    manifest = tmp_path / "m.json"
    write_histories([row], manifest)
    done = lamr_corpus("-o", tmp_path / "out", "--manifest", manifest, "--mirror", folder, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["train"] == len(list(read_records(tmp_path / "out" / "train.jsonl")))
    held = manifest.read_text().replace("someone/headers", "psf/requests")
    manifest.write_text(held)
    done = lamr_corpus("-o", tmp_path / "held", "--manifest", manifest, "--mirror", folder)
    assert done.returncode == 2
    assert "psf/requests: kept for evaluation" in done.stderr
