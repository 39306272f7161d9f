"""What a file of any language says of itself becomes questions; the lines that answer follow from its grammar."""

from __future__ import annotations

import random

import pytest
from lamr_postprocess.languages import language_named
from lamr_training.made.facts import facts_of
from lamr_training.made.kinds import KINDS, Draft, MadeFile
from lamr_training.made.templates import tail

from tests.training.made.samples import COMMENT, DOC, MESSAGE, SOURCES


def made_file(language: str, text: str) -> MadeFile:
    facts = facts_of(text, language_named(language))
    assert facts is not None
    return MadeFile(facts, "src/retry.x", language)


def drafts(kind: str, file: MadeFile, seed: int = 0) -> list[Draft]:
    make, _ = KINDS[kind]
    return list(make(file, random.Random(seed)))


def shown(file: MadeFile, rows: frozenset[int]) -> list[str]:
    return [file.facts.lines[row].strip() for row in sorted(rows) if file.facts.lines[row].strip()]


def shares_words(query: str, text: str) -> bool:
    return len(set(query.lower().split()) & set(text.lower().split())) >= 2


@pytest.mark.parametrize("language", SOURCES)
def test_a_documentation_comment_asks_for_its_definition_and_is_cut(language: str) -> None:
    file = made_file(language, SOURCES[language])
    (draft,) = drafts("docstring", file)
    assert shares_words(draft.query, DOC)
    assert "param" not in draft.query.lower()
    answer = shown(file, draft.gold)
    lead = {"rust": "#[inline]", "cpp": "template <class Settings>", "python": "@staticmethod"}.get(language)
    assert answer[0] == lead or "elay(" in answer[0]
    assert answer[-1] in ("}", "end", "return delay")
    assert any(MESSAGE in line for line in answer)
    cut = shown(file, draft.cut)
    assert any(DOC.lower()[6:] in line.lower() for line in cut)
    assert language == "python" or all(line.startswith(("/", "*", "#")) for line in cut)
    assert not draft.cut & draft.gold


@pytest.mark.parametrize("language", SOURCES)
def test_a_comment_in_a_function_asks_for_the_statements_below_it(language: str) -> None:
    file = made_file(language, SOURCES[language])
    (draft,) = drafts("comment", file)
    assert shares_words(draft.query, COMMENT)
    first, second = shown(file, draft.gold)
    assert "attempts" in first
    assert "jitter(" in second
    assert [line.lstrip("/# ") for line in shown(file, draft.cut)] == [COMMENT]


@pytest.mark.parametrize("language", SOURCES)
def test_a_message_asks_for_the_block_that_it_is_raised_in(language: str) -> None:
    file = made_file(language, SOURCES[language])
    (draft,) = drafts("error", file)
    assert MESSAGE in draft.query
    header, thrown, *end = shown(file, draft.gold)
    assert header.startswith("if")
    assert MESSAGE in thrown
    assert end == {"ruby": ["end"], "python": []}.get(language, ["}"])
    assert not draft.cut


def test_a_message_in_a_short_function_asks_for_all_of_it() -> None:
    text = "".join(line for line in SOURCES["go"].splitlines(keepends=True) if "spare(" not in line)
    file = made_file("go", text)
    (draft,) = drafts("error", file)
    answer = shown(file, draft.gold)
    assert (answer[0][:4], answer[-2:]) == ("func", ["return delay, nil", "}"])


def test_messages_that_tests_expect_ask_nothing() -> None:
    file = made_file("javascript", SOURCES["javascript"])
    assert not drafts("error", MadeFile(file.facts, "test/retry.test.js", "javascript"))


CALLS = """\
package retry

const MAX_ATTEMPTS = 3

func shift(attempts int) int {
	limit := MAX_ATTEMPTS
	attempts = attempts % limit
	return attempts * 2
}

func chooseTheDelay(attempts int) int {
	if attempts == 0 {
		return 0
	}
	shifted := shift(attempts)
	return shifted + 1
}
"""


def test_a_call_is_answered_by_caller_and_callee() -> None:
    file = made_file("go", CALLS)
    (draft,) = drafts("calls", file)
    assert draft.gold == frozenset([*range(4, 9), *range(10, 17)])


def test_a_call_in_words_is_answered_by_both_as_a_whole() -> None:
    file = made_file("go", CALLS)
    (draft,) = drafts("several", file)
    assert draft.gold == frozenset([*range(4, 9), *range(10, 17)])


BRANCHES = {
    "python": ("def spread(values, limit):", "if limit is None and values:", ""),
    "javascript": ("function spread(values, limit) {", "if (limit === null && values) {", "}"),
    "rust": ("fn spread(values: &[u8], limit: u8) {", "if limit == 0 && values.is_empty() {", "}"),
}


@pytest.mark.parametrize("language", BRANCHES)
def test_a_branch_of_a_long_function_is_answered_with_the_functions_header(language: str) -> None:
    header, condition, end = BRANCHES[language]
    branch = [
        f"    {condition}",
        *(f"        keep({n});" for n in range(4)),
        *([f"    {end}"] if end else []),
    ]
    lines = [
        header,
        *(f"    first({n});" for n in range(40)),
        *branch,
        "    last();",
        *([end] if end else []),
    ]
    file = made_file(language, "\n".join(lines) + "\n")
    (draft,) = drafts("block", file)
    assert draft.gold == frozenset([0, *range(41, 41 + len(branch))])
    assert {"spread", "limit", "values"} & set(draft.query.replace("`", " ").split())


def test_a_name_of_several_words_asks_for_its_function() -> None:
    file = made_file("go", CALLS)
    (draft,) = drafts("name", file)
    assert draft.gold == frozenset(range(10, 17))


def test_a_constant_asks_for_where_it_is_set_and_used() -> None:
    file = made_file("go", CALLS)
    (draft,) = drafts("setting", file)
    assert shown(file, draft.gold) == ["const MAX_ATTEMPTS = 3", "limit := MAX_ATTEMPTS"]


def test_a_macro_that_is_called_is_no_constant() -> None:
    text = "class A {\n SOME_MACRO(A);\n};\nclass B {\n  SOME_MACRO(B);\n};\n#define LAST_PORT 80\nint p = LAST_PORT;\n"
    (draft,) = drafts("setting", made_file("cpp", text))
    assert draft.gold == frozenset({6, 7})


def test_questions_of_every_form_have_the_definition_as_their_answer() -> None:
    file = made_file("java", SOURCES["java"])
    for seed in range(20):
        for draft in drafts("question", file, seed):
            assert any(MESSAGE in line for line in shown(file, draft.gold))
            assert len(draft.query.split()) >= 2


@pytest.mark.parametrize(
    "comment",
    [
        "TODO make this wait a little longer every time",
        "Licensed under the terms that stand in the file beside it",
        "delay = settings.delay * attempts",
        "eslint-disable-next-line no-console because of the logs here",
        "=====================",
        "wait here",
        "@ts-ignore because the types of this library are wrong",
    ],
)
def test_a_comment_that_is_no_prose_asks_nothing(comment: str) -> None:
    file = made_file("javascript", SOURCES["javascript"].replace(COMMENT, comment))
    assert not drafts("comment", file)


def test_a_comment_outside_functions_asks_nothing() -> None:
    text = f"package retry\n\n// {COMMENT}\nvar delay = 1\nvar other = 2\n"
    assert not drafts("comment", made_file("go", text))


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("if quux is None:", True),
        ("if (!quux) {", True),
        ("if quux is not None:", False),
        ("if quux != nil {", False),
        ("for quux in self:", False),
    ],
)
def test_a_condition_says_whether_something_is_missing(header: str, missing: bool) -> None:
    said = [tail([], [header], random.Random(seed)) for seed in range(100)]
    assert any("quux" in text for text in said)
    assert any(text.endswith("false") for text in said) == missing


def test_a_comment_on_the_only_statement_of_a_block_is_answered_with_the_blocks_header() -> None:
    lines = [
        "def keep(path):",
        "    if path:",
        "        # nobody needs the file any longer",
        "        return",
        "    x = 1",
    ]
    (draft,) = drafts("comment", made_file("python", "\n".join(lines) + "\n"))
    assert draft.gold == {1, 3}
    lines.insert(2, "        x = 2")
    (draft,) = drafts("comment", made_file("python", "\n".join(lines) + "\n"))
    assert draft.gold == {4}


def test_a_message_that_stands_in_several_places_asks_nothing() -> None:
    file = made_file("ruby", SOURCES["ruby"] + SOURCES["ruby"].replace("Retry", "Again"))
    assert not drafts("error", file)


DECORATED = '''
@register(
    "keep",
)
async def keep_values(values):
    r"""Keep :class:`~lamr.Values` of one table for later ones.

    Not for long.
    """
    await store(values)
    return values


def only_documented(values):
    """Says what a function would do with its values,

    if it had a body.
    """
'''


def test_a_docstring_is_cut_where_a_body_stays_and_decorators_belong_to_the_answer() -> None:
    file = made_file("python", DECORATED)
    kept, only = file.facts.definitions
    assert (kept.rows, kept.comment and kept.comment.rows) == (range(1, 11), range(5, 9))
    assert only.comment is None
    assert file.said == {4: "Keep lamr.Values of one table for later ones"}
    (draft,) = drafts("docstring", file)
    assert draft.cut == frozenset(range(5, 9))
    assert draft.gold == frozenset([*range(1, 5), 9, 10])


@pytest.mark.parametrize("language", SOURCES)
def test_broken_and_empty_files_ask_nothing_that_they_lack(language: str) -> None:
    for text in ("", "\n", "}}}} ((( \n" * 5, SOURCES[language][: len(SOURCES[language]) // 2]):
        if facts_of(text, language_named(language)) is None:
            continue  # Python's own parser refuses it
        file = made_file(language, text)
        for kind in KINDS:
            for draft in drafts(kind, file):
                assert max(draft.gold | draft.cut) < len(file.facts.lines)
