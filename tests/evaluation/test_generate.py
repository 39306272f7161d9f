"""Generated items: the gold is what the syntax says, the answer isn't left in the query's source."""

import ast

import pytest
from lamr_evaluation.generate import KINDS, generate_items, split_name

CODE = '''"""Module."""


class Store:
    @property
    def newest_entry_name(self):
        """Name of the entry that was :meth:`written` last."""
        names = sorted(self.entries)
        last = names[-1]
        return last

    def open_store_file(self, path):
        if path is None:
            return None
        try:
            return self.read_all_bytes(path)
        except OSError as error:
            if error.errno == 2:
                raise LookupError(f"no store at {path}, create it first") from error
            raise

    def read_all_bytes(self, path):
        with open(path, "rb") as file:
            return file.read()
'''


def of_kind(kind, code=CODE, per_kind=9):
    return [
        item
        for item in generate_items(code, path="p.py", project="p", per_kind=per_kind)
        if item.kind == kind
    ]


def gold_text(item):
    return [item.lines[number - 1].strip() for number in item.kept_frags]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("parseHTTPHeader_2", "parse http header 2"),
        ("_read_all", "read all"),
        ("GMLToken", "gml token"),
        ("x", "x"),
    ],
)
def test_split_name(name, words):
    assert " ".join(split_name(name)) == words


def test_docstring_asks_for_the_function_and_is_cut():
    (item,) = of_kind("docstring")
    assert item.query == "Name of the entry that was written last"
    assert "that was" not in item.code
    ast.parse(item.code)
    assert gold_text(item) == [
        "@property",
        "def newest_entry_name(self):",
        "names = sorted(self.entries)",
        "last = names[-1]",
        "return last",
    ]


def test_error_asks_for_the_raise_and_what_leads_to_it():
    (item,) = of_kind("error")
    assert item.query == "LookupError: no store at ..., create it first"
    assert gold_text(item) == [
        "def open_store_file(self, path):",
        "try:",
        "except OSError as error:",
        "if error.errno == 2:",
        'raise LookupError(f"no store at {path}, create it first") from error',
    ]


def test_calls_asks_for_the_call_and_the_called():
    (item,) = of_kind("calls")
    assert item.query == "How does open_store_file make use of read_all_bytes?"
    assert gold_text(item)[:2] == ["def open_store_file(self, path):", "return self.read_all_bytes(path)"]
    assert gold_text(item)[2:] == [line.strip() for line in CODE.splitlines()[-3:]]


def test_names_ask_for_functions_of_some_length():
    assert {item.query for item in of_kind("name")} == {"newest entry name", "open store file"}


def test_ambiguous_names_and_messages_are_not_asked_for():
    again = CODE.replace("class Store", "class Other")
    assert not of_kind("name", CODE + again)
    assert not of_kind("error", CODE + again)


def test_the_choice_is_the_same_every_time_and_bounded():
    first = generate_items(CODE, path="p.py", project="p")
    assert first == generate_items(CODE, path="p.py", project="p")
    assert [item.kind for item in first] == list(KINDS)
    assert all(item.path == "p.py" and item.project == "p" for item in first)


@pytest.mark.parametrize("code", ["", "def f(:\n", "x = 1\x00", "a = '\x0c'\n" + CODE, "(" * 5000])
def test_files_that_cannot_be_asked_about_give_nothing(code):
    assert generate_items(code) == []
