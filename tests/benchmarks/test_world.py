"""The benchmark of the world's files: its checks find planted faults and nothing else; a sample keeps the rules."""

import json
import random
import re

import pytest

from benchmarks.report import read_figures, run
from benchmarks.world import __main__ as world
from benchmarks.world import mutants, structure
from benchmarks.world.cases import Tools, as_text
from benchmarks.world.checks import Checked, Outcome
from benchmarks.world.corpus import SMALL, Item
from benchmarks.world.damage import DAMAGES
from benchmarks.world.formats import FORMATS, format_named, format_of
from benchmarks.world.programs import PROGRAMS
from benchmarks.world.worker import checked

CODE = """\
def a():
    text = '''
    one
    two
    '''
    return text


def b():
    return 2
"""
NUMBERED = "".join(f"{n}\t{line}" for n, line in enumerate(CODE.splitlines(True), 1))
SHELL = "cat <<EOF\none\ntwo\nEOF\ncurl \\\n  -s \\\n  x\n"


def kinds(text: str, form: str, outcome: Outcome) -> set[tuple[int, str]]:
    """The violations of a result, by invariant and kind."""
    return {(each.invariant, each.kind) for each in Checked(text, format_named(form)).violations(outcome)}


def cut(text: str, first: int, last: int, marker: str) -> str:
    """The text with a marker in the place of some lines."""
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: first - 1], marker + "\n", *lines[last:]])


@pytest.mark.parametrize(
    ("first", "last", "marker", "found"),
    [
        (10, 10, "    pass  # ... 10 pruned", set()),
        (9, 10, "# ... 9-10 pruned", set()),
        (3, 4, "    [ ... 3-4 pruned ]", set()),
        (9, 10, "# ... 8-9 pruned", {(4, "a marker's numbers are wrong")}),
        (9, 10, "# ... 9 pruned", {(1, "a line changed")}),
        (10, 10, "    return  2", {(1, "a line changed")}),
        (10, 10, "# ... 10 pruned", {(2, "doesn't parse any more")}),
        (3, 4, "    # ... 3-4 pruned", {(3, "half of a string"), (3, "a marker inside a string")}),
    ],
)
def test_a_planted_fault_in_python_is_found(first, last, marker, found):
    assert kinds(CODE, "python", Outcome("planted", cut(CODE, first, last, marker))) == found


HALF_HEREDOC = {(3, "half of a heredoc_redirect"), (3, "a marker inside a heredoc_body")}
NO_COMMENT, BROKEN = {(3, "a marker that is no comment")}, {(2, "doesn't parse any more")}
JSON = "[\n  1,\n  2\n]\n"
TWIG = "{% extends a %}\n{# a\nb #}\n<b>\n"
PAGE = "<script>\na();\nb();\n</script>\n"


@pytest.mark.parametrize(
    ("form", "text", "result", "found"),
    [
        ("python", CODE, CODE, set()),
        ("python", CODE, CODE[:-1], {(1, "a line changed")}),
        ("shell", SHELL, cut(SHELL, 1, 4, "# ... 1-4 pruned"), set()),
        ("shell", SHELL, cut(SHELL, 2, 3, "# ... 2-3 pruned"), HALF_HEREDOC),
        ("shell", SHELL, cut(SHELL, 6, 7, "  # ... 6-7 pruned"), {(3, "half of a continued line")}),
        ("toml", "a = [\n  1,\n]\n", "a = [\n  // ... 2 pruned\n]\n", BROKEN),
        ("gherkin", "Feature: a\n  b\n", "Feature: a\n... 2 pruned\n", NO_COMMENT),
        # The grammar's comment begins behind the line above it.
        ("twig", TWIG, cut(TWIG, 1, 1, "<!-- ... 1 pruned -->"), set()),
        # A blank line alone is no half of a tag, and no file that has to parse.
        ("vue", "<p\n  a\n\n  b>\n</p>\n", "<!-- ... 1-2 pruned -->\n\n<!-- ... 4-5 pruned -->\n", set()),
        ("liquid", f"<p>\n{PAGE}", f"// ... 1 pruned\n{cut(PAGE, 3, 3, '// ... 4 pruned')}", NO_COMMENT),
        ("json", JSON, cut(JSON, 2, 2, "  // ... 2 pruned"), set()),
        ("json", JSON, cut(JSON, 3, 3, "  // ... 3 pruned"), BROKEN),
        ("markdown", "# a\n\nb\nc\n", "# a\n\n<!-- ... 3-4 pruned -->\n", set()),
        (
            "markdown",
            "```\na\n```\nb\n",
            "```\na\n<!-- ... 3-4 pruned -->\n",
            {(3, "half of a fenced_code_block")},
        ),
        ("haskell", "-- a\n-- b\nc = 1\n", "-- a\n-- ... 2 pruned\nc = 1\n", set()),
        ("html", PAGE, cut(PAGE, 3, 3, "<!-- ... 3 pruned -->"), {(3, "markup as a marker in raw_text")}),
    ],
)
def test_a_planted_fault_is_found(form, text, result, found):
    assert kinds(text, form, Outcome("planted", result)) == found


@pytest.mark.parametrize(
    ("name", "text", "first", "found"),
    [
        ("a.c", 'int f() {\n  g("{");  // }\n}\n', 3, {8}),
        ("a.c", 'int f() {\n  g("{");  // }\n}\n', 2, {8}),
        ("a.c", 'int f() {\n  g("{");  // }\n}\n', 1, set()),
        ("a.c", "int f() {\n  g();\n}}\n", 3, set()),  # nobody knows which
        ("a.zzz", "{\n  a\n}\n", 3, set()),
    ],
)
def test_half_of_a_pair_of_brackets_is_found(name, text, first, found):
    outcome = Outcome("planted", cut(text, first, 3, f"// ... {first}-3 pruned"))
    violations = Checked(text, format_named("c"), name).violations(outcome)
    assert {each.invariant for each in violations} - {2} == found


@pytest.mark.parametrize(
    ("outcome", "found"),
    [
        (Outcome("x", CODE, budget=9, tokens=10), {(4, "over budget")}),
        (Outcome("x", CODE, told=9, tokens=10), {(4, "tokens miscounted")}),
        (Outcome("x", CODE, status="pruned"), {(4, "`pruned` without a cut or a reason")}),
        (Outcome("x", CODE, status="pruned", reason="nothing to cut"), set()),
        (Outcome("x", CODE, kept=(1, 2)), {(4, "kept_lines aren't the lines of the text")}),
        (Outcome("x", CODE, seconds=2.5), {(5, "slow")}),
        (Outcome("x", CODE, seconds=1.5), set()),
        (Outcome("x", error="Traceback\nKeyError: 1"), {(5, "traceback: KeyError: 1")}),
        (Outcome("x", refused="BudgetError: too small"), set()),
        (Outcome("x", NUMBERED, numbered=True), set()),
    ],
)
def test_what_a_result_says_is_compared_with_what_it_is(outcome, found):
    assert kinds(CODE, "python", outcome) == found


@pytest.mark.parametrize(
    ("text", "said", "found"),
    [
        ("a" * 12_000 + "\n", "1 line of 12,001 characters", set()),
        ("a" * 12_000 + "\n", "1 line of 12,000 characters", {4}),
        ("b\n" + "a" * 12_000, "1 of 2 lines hold 12,000 of 12,002 characters", set()),
        (CODE, f"1 line of {len(CODE)} characters", {4}),
    ],
)
def test_an_outline_of_a_minified_file_says_what_is_true(text, said, found):
    outcome = Outcome("outline", f"# ... minified: {said}\n", kept=())
    assert {each.invariant for each in Checked(text, format_named("python")).violations(outcome)} == found


LOG = "FAILED a\npassed b\npassed c\nerror: d\n1 failed, 2 passed\nexit code 1\n"


@pytest.mark.parametrize(
    ("case", "result", "found"),
    [
        ("instant", LOG, set()),
        ("instant", "FAILED a\n... 2-3 pruned\nerror: d\n1 failed, 2 passed\nexit code 1\n", set()),
        ("instant", cut(LOG, 1, 1, "... 1 pruned"), {"FAILED a"}),
        ("hook", cut(LOG, 3, 6, "... 3-6 pruned"), {"error: d", "1 failed, 2 passed", "exit code 1"}),
        ("command", cut(LOG, 1, 1, "... 1 pruned; 0 of 1 failures shown"), set()),
        ("prune, a quarter", cut(LOG, 1, 1, "... 1 pruned"), set()),  # by scores of chance
    ],
)
def test_a_failure_or_a_total_that_is_gone_is_found(case, result, found):
    violations = [*Checked(LOG, format_named("log")).violations(Outcome(case, result))]
    assert {each.detail for each in violations if each.invariant == 6} == found
    assert all(each.invariant == 6 for each in violations)


MUTATED = "# Licence 2024\n one  \n two 2\n two 2\n 10 %\r 20 %\r done 30\n"


@pytest.mark.parametrize(
    ("lossy", "kinds"),
    [
        (lambda text: text, set()),
        (lambda text: re.sub(r"\d", "", text), {"another digit"}),
        (lambda text: re.sub(r"\x1b\[\d+m", "", text), {"a word red", "a word green"}),
        (lambda text: re.sub(r"\x1b\[\d+m", "\x1b[1m", text), {"a word green"}),
        (lambda text: re.sub(r" +\n", "\n", text), {"a space after a line", "spaces after lines gone"}),
        (lambda text: text.replace("\r\n", "\n"), {"the other line end"}),
        (lambda text: text.replace(" two 2\n" * 2, " two 2\n"), {"a repeated line once less"}),
        (lambda text: re.sub(r"[^\r\n]*\r(?!\n)", "", text), {"a shorter overwrite"}),
    ],
)
def test_texts_that_become_one_are_found(monkeypatch, lossy, kinds):
    monkeypatch.setattr(mutants, "lossless", lambda text, known: lossy(text))
    found = {
        each.kind.removeprefix("two texts become one: ") for each in mutants.alike(MUTATED, random.Random(0))
    }
    assert kinds <= found
    assert bool(found) == bool(kinds)


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_a_damage_changes_the_bytes_and_a_harmless_one_not_what_parses(name):
    data = ("# a comment\n" + CODE).encode()
    changed = DAMAGES[name].change(data, random.Random(0))
    assert changed != data
    if DAMAGES[name].harmless:
        assert PROGRAMS["python"](changed.decode("utf-8-sig"))


def test_every_grammar_and_program_of_the_table_is_there():
    for form in FORMATS:
        assert not form.grammar or structure.parsed("\n", form.grammar) is not None, form
        assert not form.program or form.program in PROGRAMS, form


@pytest.mark.parametrize("name", ["utf-8", "utf-16", "utf-16-le", "cp1252", "shift_jis", "gb18030"])
def test_lines_stay_apart_in_every_encoding(name):
    words = {"cp1252": "naïve", "shift_jis": "接続", "gb18030": "检查"}.get(name, "größer")
    text = f"# {words}\r\nimport a\r\nimport b\n"
    data = text.encode(name)
    assert len(as_text(data).splitlines()) == 3
    cut_off = data[: data.rindex("import".encode("utf-16-le" if "16" in name else "ascii"))]
    assert as_text(cut_off, data).count("\n") == 2


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """What the calls share."""
    return Tools.made(tmp_path_factory.mktemp("world"))


SAMPLE = ("pool.py", "pool.go", "pool.rs", "queue.c", "orders.rb", "setup.cfg", "List.jsx")
SAMPLE += ("Orders.tsx", "Orders.java")


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_the_small_set_keeps_every_rule(tools, name):
    data = (SMALL / name).read_bytes()
    report = checked(Item(f"small/{name}", name, format_of(name).name, data), tools, 0)
    assert not report.violations
    assert report.cases >= 6
    assert report.judged


def test_an_interrupted_run_goes_on(monkeypatch, capsys, tmp_path):
    output = tmp_path / "world.jsonl"
    words = ["world", "--only", "toml", "--files", "400", "--no-packs", "--output", str(output), "--json"]
    monkeypatch.setattr("sys.argv", words)
    run(world.PARSER, world.measure)
    rows = [json.loads(row) for row in output.read_text().splitlines()]
    assert "small/pyproject.toml" in {row["id"] for row in rows}
    first = {figure.name: figure.value for figure in read_figures(capsys.readouterr().out)}
    assert first["files"] == len(rows)
    monkeypatch.setattr(world.Worker, "run", None)  # nothing is left to run
    run(world.PARSER, world.measure)
    assert {figure.name: figure.value for figure in read_figures(capsys.readouterr().out)} == first


def test_one_file_is_shown(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["world", "--file", str(SMALL / "pool.py"), "--seed", "1"])
    assert run(world.PARSER, world.measure) == 0
    assert "-- outline" in capsys.readouterr().out
