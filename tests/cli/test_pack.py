"""`lamr pack`: arguments, output, summary and exit codes; the packing itself is tests/repositories' matter."""

import json
import re
import stat
import subprocess
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
from lamr_cli.pack import Form
from lamr_repositories import FORMATS

from tests.client.conftest import free_port
from tests.command import invoke, run_main

__all__ = ["free_port"]

QUESTION = "How is the area of a shape computed?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "shapes"
    root.mkdir()
    (root / "area.py").write_text("def area(width, height):\n    return width * height\n")
    (root / "colour.py").write_text("def mix(red, green):\n    return red + green\n" * 30)
    return root


lamr = partial(invoke, "pack")


def test_options_name_what_there_is() -> None:
    assert set(get_args(Form)) == FORMATS.keys()


def test_a_folder_is_packed_and_summed_up(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    done = lamr(folder, "-q", QUESTION, "--max-tokens", "400", "--cache", cache)
    assert done.exit_code == 0
    assert '<file path="area.py">\ndef area' in done.stdout
    assert "mix(red" not in done.stdout.split("<outlines>")[0]
    assert "of 400" in done.stderr
    assert cache.exists()
    again = lamr(folder, "-q", QUESTION, "--max-tokens", "400", "--cache", cache)
    assert again.stdout == done.stdout
    assert "from the cache: 2 indexes" in again.stderr


def test_files_are_ranked_by_the_words_of_a_task_too(folder: Path) -> None:
    def packed(*options: str) -> list[str]:
        done = lamr(folder, "-q", "I'll look.", "--no-cache", "--json", *options)
        data = json.loads(done.stdout)
        assert data["query"] == "I'll look."
        return [each["path"] for each in data["files"]]

    assert packed("--task", "The width and the height of an area", "--max-tokens", "300") == ["area.py"]
    (folder / "issue.md").write_text("Mix red with green", encoding="utf-8")
    assert "colour.py" in packed("--task", f"@{folder}/issue.md", "--exclude", "*.md", "--max-tokens", "300")


def test_a_pack_without_a_line_says_why_and_exits_with_4(folder: Path, tmp_path: Path) -> None:
    (empty := tmp_path / "empty").mkdir()
    for root, question, tokens, why in (
        (folder, "zzyzx quux", "400", "no file has a word of the question"),
        (folder, QUESTION, "85", "the budget has no room for the best ones"),
        (empty, QUESTION, "400", "there is no file to choose from"),
    ):
        done = lamr(root, "-q", question, "--max-tokens", tokens, "--no-cache")
        assert done.exit_code == 4, done.stderr
        assert f"no line is kept: {why}" in done.stderr
        assert done.stdout


def test_a_question_in_another_language_is_answered_by_its_words(folder: Path) -> None:
    done = lamr(folder, "-q", "area はどこで使われますか", "--max-tokens", "500", "--no-cache")
    assert done.exit_code == 0
    assert "def area" in done.stdout
    assert "the model doesn't read the question's language" in done.stderr


def test_a_list_of_files_and_json(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = lamr("-", "-q", QUESTION, "--no-cache", "--json", "--quiet", stdin="area.py\n")
    data = json.loads(done.stdout)
    assert [each["path"] for each in data["files"]] == ["area.py"]
    assert done.stderr == ""


def test_a_url_and_a_page_to_look_at(folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "shapes.git"
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"], ["branch", "old"]):
        subprocess.run(["git", *author, *arguments], cwd=folder, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", folder, bare], check=True)
    page = tmp_path / "page.html"
    asked = ("-q", QUESTION, "--no-cache", "--html", page)
    done = lamr(bare.as_uri(), *asked, "--revision", "old")
    assert done.exit_code == 0
    assert "parts of shapes that" in done.stdout
    assert "def area" in done.stdout
    assert "fetch" in done.stderr
    assert "area.py" in page.read_text()
    wrong = lamr(folder, "-q", QUESTION, "--html", tmp_path / "none" / "page.html")
    assert wrong.exit_code == 2
    assert "no folder" in wrong.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-q", QUESTION, "--max-tokens", "20"], "the smallest valid output has"),
        (["-q", " "], "the query is empty"),
        (["-q", QUESTION, "--revision", "main"], "no git repository"),
        (["-q", QUESTION, "--include", "!"], "not a pattern"),
        (["-q", QUESTION, "--tokenizer", "none.json"], "is no tokenizer"),
    ],
)
def test_errors_name_the_cause(folder: Path, arguments: list[str], words: str) -> None:
    done = run_main("pack", folder, *arguments, "--no-cache")
    assert done.returncode == 2
    assert words in done.stderr


def test_files_with_secrets_are_counted_and_taken_when_asked(folder: Path) -> None:
    (folder / ".env").write_text("AREA=zebra7391\n")
    done = lamr(folder, "-q", QUESTION, "--no-cache")
    assert "zebra7391" not in done.stdout
    assert "left out 1 with secrets" in done.stderr
    assert ".env (include_secrets, --include-secrets takes them)" in done.stderr
    taken = lamr(folder, "-q", QUESTION, "--no-cache", "--include-secrets")
    assert "zebra7391" in taken.stdout
    assert "secrets" not in taken.stderr


def test_a_new_page_is_for_its_owner_and_an_old_one_keeps_its_mode(folder: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old.html", tmp_path / "new.html"
    old.touch()
    old.chmod(0o644)
    for page in (old, new):
        lamr(folder, "-q", QUESTION, "--no-cache", "--quiet", "--html", page)
    assert (stat.S_IMODE(old.stat().st_mode), stat.S_IMODE(new.stat().st_mode)) == (0o644, 0o600)
    texts = [re.sub(r"\d+\.\d+", "", page.read_text()) for page in (old, new)]  # but for how long it took
    assert texts[0] == texts[1]


def test_several_repositories_make_one_pack(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / folder.name
    other.mkdir(parents=True)
    (other / "room.py").write_text("def room(width, height):\n    return width, height\n")
    done = lamr(folder, other, "-q", QUESTION, "--max-tokens", "600", "--no-cache")
    assert done.exit_code == 0, done.stderr
    assert f'<file path="{folder.name}/area.py">' in done.stdout
    assert f'<file path="{folder.name}-2/room.py">' in done.stdout
    assert lamr(folder, other, "-q", QUESTION, "--no-cache", "--revision", "main").exit_code != 0
    assert lamr(folder, "-", "-q", QUESTION, "--no-cache").exit_code == 2
