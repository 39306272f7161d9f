"""`lamr prune --format` and `lamr view`, with the bundled model, in process and without a subprocess."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from lamr_cli.prune import Form
from lamr_client import ServerUnavailableError
from lamr_postprocess import prune_lines, split_lines

from tests.client.conftest import free_port
from tests.command import invoke as lamr
from tests.command import run_main

__all__ = ["free_port"]

QUERY = "How is the area of a shape computed?"
CODE = "".join(
    f"import module{i}\n\n\ndef function{i}(width, height):\n"
    f"    '''The {'area' if i == 3 else 'colour'} of a shape.'''\n"
    f"    value{i} = module{i}.make(width)\n    return value{i} * height\n\n\n"
    for i in range(8)
)
MARKER = re.compile(r"^[ \t]*(pass  )?# \.\.\. \d+(-\d+)? pruned$", re.M)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shapes.py"
    path.write_text(CODE)
    return path


def test_every_form_tells_of_the_same_lines(file: Path) -> None:
    found = {
        form: lamr("prune", file, "-q", QUERY, "--ratio", "3", "--quiet", "--format", form)
        for form in get_args(Form)
    }
    assert {result.exit_code for result in found.values()} == {0}
    comment = found["text"].stdout
    assert MARKER.findall(comment)
    kept = [line for line in comment.splitlines() if not MARKER.match(line)]
    spans = json.loads(found["spans"].stdout)["spans"]
    assert "".join(span["text"] for span in spans) == CODE
    assert "".join(span["text"] for span in spans if span["kept"]).splitlines() == kept
    heat = found["heat"].stdout.splitlines()
    assert len(heat) == len(split_lines(CODE))
    assert sum(re.match(r" *\d+ [●◆■+]", line) is not None for line in heat) == len(kept)
    assert "\x1b" not in found["heat"].stdout


def test_a_task_comes_as_text_or_from_a_file(file: Path, tmp_path: Path) -> None:
    task = "Shapes\n\n" + "Nothing of note. Really nothing at all. " * 60 + "The area of a shape is wrong."
    (tmp_path / "issue.md").write_text(task)
    given = [
        lamr("prune", file, "-q", "I'll look.", "--task", each) for each in (task, f"@{tmp_path}/issue.md")
    ]
    assert given[0].stdout == given[1].stdout != lamr("prune", file, "-q", "I'll look.").stdout
    assert "of query and task the model read: I'll look. Shapes" in given[0].stderr
    assert "The area of a shape is wrong." in given[1].stderr
    missing = lamr("prune", file, "-q", QUERY, "--task", "@nowhere.md")
    assert missing.exit_code == 2
    assert "nowhere.md" in missing.stderr
    (tmp_path / "said.md").write_text("I changed the colour of a shape.")
    told = lamr("prune", file, "-q", "I'll look.", "--history", f"@{tmp_path}/said.md", "--json")
    asked = lamr("prune", file, "-q", "I'll look.", "--json")
    assert json.loads(told.stdout)["line_scores"] != json.loads(asked.stdout)["line_scores"]


def test_effort_is_an_option_and_the_last_line_says_what_was_read(file: Path) -> None:
    said = {
        effort: lamr("prune", file, "-q", QUERY, "--effort", effort).stderr.splitlines()[-1]
        for effort in ("instant", "full")
    }
    assert " · line model · " in said["instant"]
    assert re.search(r" · (all \d+ chunks|the one chunk) · ", said["full"])
    shown = json.loads(
        lamr("prune", file, "-q", QUERY, "--within", "60", "--effort", "full", "--json").stdout
    )
    assert shown["effort"].endswith(("chunks", "the one chunk"))
    assert lamr("prune", file, "-q", QUERY, "--effort", "lazy").exit_code == 2
    assert lamr("prune", file, "-q", QUERY, "--within", "0").exit_code == 2


def test_a_server_that_is_away_leaves_the_answer_to_the_line_model(file: Path, free_port: int) -> None:
    asked = ("prune", file, "-q", QUERY, "--server", f"127.0.0.1:{free_port}", "--within", "60")
    degraded = lamr(*asked)
    assert degraded.exit_code == 0
    assert "line model; server unavailable" in degraded.stderr
    assert "can't be reached" in degraded.stderr
    assert isinstance(lamr(*asked, "--no-degrade").exception, ServerUnavailableError)


def test_heat_has_colours_where_they_are_wanted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[48;5;" in lamr("prune", file, "-q", QUERY, "--format", "heat").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in lamr("prune", file, "-q", QUERY, "--format", "heat").stdout


def test_line_numbers_in_both_marker_styles(file: Path) -> None:
    lines = split_lines(CODE)
    for style in ("comment", "swe-pruner"):
        text = lamr("prune", file, "-q", QUERY, "--quiet", "-n", "--markers", style).stdout
        numbered = [line.split("\t", 1) for line in text.splitlines(keepends=True)]
        assert all(lines[int(number) - 1] == line for number, line in numbered if number)
        assert any(not number for number, _ in numbered)
        kept = json.loads(lamr("prune", file, "-q", QUERY, "--quiet", "--json").stdout)["kept_lines"]
        assert [int(number) for number, _ in numbered if number] == kept


def test_bounds_and_wishes(file: Path) -> None:
    def tokens(*options: str) -> tuple[int, int, str]:
        data = json.loads(lamr("prune", file, "-q", QUERY, "--quiet", "--json", *options).stdout)
        return data["tokens_in"], data["tokens_out"], data["text"]

    whole = tokens()[0]
    assert tokens("--max-tokens", "120")[1] <= 120
    assert tokens("--ratio", "4")[1] <= whole / 4
    kept = tokens("--threshold", "1", "--keep", "2", "--keep", "/return value7/")[2]
    assert "return value7 * height" in kept
    assert "return value5 * height" not in kept
    assert tokens("--min-tokens", str(whole + 1), "--threshold", "1") == (whole, whole, CODE)
    assert tokens("--min-tokens", str(whole), "--threshold", "1")[1] < whole


def test_small_code_passes_with_its_reason(file: Path) -> None:
    done = lamr("prune", file, "-q", QUERY, "--min-tokens", "100000", "--format", "spans")
    spans = json.loads(done.stdout)["spans"]
    assert [(span["kept"], span["reason"]) for span in spans] == [(True, None)]
    assert "fewer than min_tokens 100000" in done.stderr


def test_json_says_in_which_encoding_the_file_was(file: Path) -> None:
    file.write_bytes(file.read_text(encoding="utf-8").encode("utf-16"))
    assert json.loads(lamr("prune", str(file), "-q", "x", "--json").stdout)["encoding"] == "utf-16-le"


def test_json_and_a_form_exclude_each_other(file: Path) -> None:
    done = lamr("prune", file, "-q", QUERY, "--json", "--format", "heat")
    assert done.exit_code == 2
    assert "give --json or --format" in done.stderr


def test_view_writes_a_page_whose_slider_starts_at_the_threshold(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    done = lamr("view", file, "-q", QUERY + " <b>", "-o", target, "--threshold", "0.25", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == {
        "page": str(target),
        "lines": len(split_lines(CODE)),
        "threshold": 0.25,
    }
    page = target.read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "").replace("lamr http", "")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found
    data = json.loads(found[1])["file"]
    assert data["query"] == QUERY + " <b>"
    assert data["steps"][data["start"]] == 0.25
    done = lamr("prune", file, "-q", QUERY + " <b>", "--effort", "full", "--quiet", "--json")
    scores = json.loads(done.stdout)["line_scores"]
    expected = prune_lines(CODE, scores, path="shapes.py", answering=0.25).kept_lines
    fates = [data["reasons"][fate[data["start"]]] for fate in data["fates"]]
    assert tuple(number for number, why in enumerate(fates, 1) if why) == expected


@pytest.mark.parametrize("query", [QUERY, "Fix the area of a shape", "Change what is written to the log"])
def test_the_slider_starts_where_a_prune_cuts(file: Path, tmp_path: Path, query: str) -> None:
    done = lamr("view", file, "-q", query, "-o", tmp_path / "page.html", "--json")
    start = json.loads(done.stdout)["threshold"]
    pruned = json.loads(lamr("prune", file, "-q", query, "--quiet", "--json", "--effort", "full").stdout)
    expected = prune_lines(CODE, pruned["line_scores"], path="shapes.py", answering=start).kept_lines
    assert tuple(pruned["kept_lines"]) == expected
    assert pruned["threshold"] == start


def test_view_starts_where_a_prune_with_a_task_cuts(file: Path, tmp_path: Path) -> None:
    asked = ("-q", "Fix it", "--task", "How is the area of a shape computed? " * 60)
    done = lamr("view", file, *asked, "-o", tmp_path / "page.html", "--json")
    pruned = json.loads(lamr("prune", file, *asked, "--quiet", "--json", "--effort", "full").stdout)
    assert json.loads(done.stdout)["threshold"] == pruned["threshold"]


def test_view_never_overwrites_the_file_that_it_shows(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to(file)
    for target in (file, link):
        done = lamr("view", file, "-q", QUERY, "-o", target)
        assert done.exit_code == 2
        assert "name another page" in done.stderr
    assert file.read_text() == CODE


def test_view_names_its_page_by_the_file(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = lamr("view", file, "-q", QUERY)
    assert "shapes.py.html" in done.stderr
    assert (tmp_path / "shapes.py.html").stat().st_size > 1_000
    assert lamr("view", "-", "-q", QUERY, stdin=CODE.encode()).exit_code == 0
    assert (tmp_path / "stdin.html").is_file()


@pytest.mark.parametrize("command", ["prune", "view"])
def test_a_folder_is_for_pack(command: str, file: Path) -> None:
    done = run_main(command, file.parent, "-q", "Why $HOME?")
    assert done.returncode == 2
    assert f"lamr pack {file.parent} -q 'Why $HOME?'" in done.stderr


def test_a_page_that_cannot_be_written_is_exit_2(file: Path) -> None:
    for target in (file.parent / "none" / "page.html", file / "page.html", file.parent):
        done = run_main("view", file, "-q", QUERY, "-o", target)
        assert done.returncode == 2
        assert str(target) in done.stderr


def test_a_selection_alone_with_swe_pruners_text(file: Path) -> None:
    options = ("--no-repair", "--markers", "swe-pruner", "--quiet")
    data = json.loads(lamr("prune", file, "-q", QUERY, *options, "--json").stdout)
    expected = prune_lines(
        CODE,
        data["line_scores"],
        path=str(file),
        threshold=data["threshold"],
        repair=False,
        markers="swe-pruner",
    )
    assert data["text"] == expected.text
    assert "(filtered " in data["text"]
    assert lamr("prune", file, "-q", QUERY, *options).stdout == data["text"]


def test_a_query_in_another_language_says_little_of_what_a_file_lacks(file: Path) -> None:
    query = "Wo wird das Zugriffstoken der Abrechnung erneuert?"
    found = json.loads(lamr("prune", file, "-q", query, "--quiet", "--json").stdout)
    assert 0.3 < found["relevance"] < 0.7


def test_a_file_without_an_answer_keeps_less(file: Path) -> None:
    asked, unrelated = (
        json.loads(lamr("prune", file, "-q", query, "--quiet", "--json").stdout)
        for query in (QUERY, "Where is the access token of the billing API refreshed?")
    )
    assert unrelated["relevance"] < 0.1
    assert asked["relevance"] > 0.5
    assert unrelated["threshold"] > asked["threshold"]
    assert 0 < len(unrelated["kept_lines"]) < len(asked["kept_lines"])


@pytest.mark.parametrize(
    "form", ["{n:6d}\tint a{k} = compute_something_long({k});\n", "{n}: a{k} = compute({k}, 1)\n"]
)
def test_a_files_own_numbers_are_text_and_those_of_standard_input_a_tools(tmp_path: Path, form: str) -> None:
    text = "".join(form.format(n=k + 1000, k=k) for k in range(60))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    options = ("-q", "a29", "--max-tokens", "200", "--effort", "instant", "--quiet")
    for name, most in ((tmp_path / "a.txt", 60), ("-", 1059)):
        shown = lamr("prune", name, *options, stdin=text.encode()).stdout
        numbers = [int(each) for each in re.findall(r"(\d+)(?:-\d+)? pruned", shown)]
        assert numbers
        assert most - 60 < max(numbers) <= most
    page = tmp_path / "page.html"
    assert lamr("view", tmp_path / "a.txt", "-q", "a29", "-o", page).exit_code == 0
    assert '59, 60], "scores"' in page.read_text(encoding="utf-8")
