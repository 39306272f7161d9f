"""Generated items: the gold is what the syntax says, the answer isn't left in the query's source."""

import ast
import importlib
import inspect

import pytest
from lamr_evaluation.generate import CHOICES, generate_items
from lamr_evaluation.records import bare_lines

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
        # Other errors than a missing file are passed on, because
        # nobody here knows what to do about them.
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


def of_kind(kind, code=CODE):
    return generate_items(code, path="p.py", project="p", choices=[[kind]], per_kind=9)


def gold_text(item):
    return [item.lines[number - 1].strip() for number in item.kept_frags]


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


def test_comment_asks_for_what_it_stands_above_and_is_cut():
    (item,) = of_kind("comment")
    assert item.query == (
        "Other errors than a missing file are passed on, because nobody here knows what to do about them"
    )
    assert "nobody here" not in item.code
    assert gold_text(item) == [
        "try:",
        "return self.read_all_bytes(path)",
        "except OSError as error:",
        "if error.errno == 2:",
        'raise LookupError(f"no store at {path}, create it first") from error',
        "raise",
    ]


def test_names_ask_for_functions_of_some_length():
    assert {item.query for item in of_kind("name")} == {"newest entry name", "open store file"}


def test_ambiguous_names_and_messages_are_not_asked_for():
    again = CODE.replace("class Store", "class Other")
    assert not of_kind("name", CODE + again)
    assert not of_kind("error", CODE + again)


def test_the_choice_is_the_same_every_time_and_bounded():
    first = generate_items(CODE, path="p.py", project="p")
    assert first == generate_items(CODE, path="p.py", project="p")
    assert [item.kind for item in first[:3]] == ["docstring", "comment", "calls"]
    assert len(first) == len(CHOICES)
    assert first[3].kind in ("error", "name")
    assert all(item.path == "p.py" and item.project == "p" for item in first)


@pytest.mark.parametrize("code", ["", "def f(:\n", "x = 1\x00", "a = '\x0c'\n" + CODE, "(" * 5000])
def test_files_that_cannot_be_asked_about_give_nothing(code):
    assert generate_items(code) == []


@pytest.mark.parametrize("module", ["argparse", "tokenize", "zipfile"])
def test_items_about_real_files_are_whole(module):
    """Whatever is cut, the rest stays as it was, and gold lines hold code of the original."""
    source = inspect.getsource(importlib.import_module(module))
    original = bare_lines(source)
    items = generate_items(source, per_kind=3)
    assert len(items) >= 8
    for item in items:
        ast.parse(item.code)
        rest = iter(original)
        assert all(any(line == other for other in rest) for line in item.lines), (
            "lines of the original, in order"
        )
        assert (len(item.lines) < len(original)) == (item.kind in ("docstring", "comment"))
        assert 2 <= len(item.kept_frags) <= 150
        assert any(line.strip() for line in gold_text(item))
