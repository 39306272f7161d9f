"""A kept line of code that is switched off shows that it is: the lines that begin and end the block stay with it.

`switched_off.txt` has a row for each way of each language: conditions that never hold, comments over several lines,
texts that hold code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lamr_postprocess import LANGUAGES, PrunedCode, document, prune_lines
from lamr_postprocess.syntax import DeepSyntaxError

ROWS = (Path(__file__).parent / "switched_off.txt").read_text(encoding="utf-8").splitlines()[1:]
WAYS: tuple[dict[str, Any], ...] = ({"threshold": 0.5}, {"answering": 0.5}, {"threshold": 0.5, "min_cut": 0})


def _pruned(rows: list[str], at: int, path: str, **options: Any) -> PrunedCode:
    return prune_lines("\n".join(rows) + "\n", np.eye(len(rows))[at], path=path, **options)


@pytest.mark.parametrize("row", ROWS)
def test_a_line_that_is_switched_off_keeps_what_says_so(row: str) -> None:
    fields = [each.encode().decode("unicode_escape") for each in row.split("\t")]
    path, before, opening, inner, closing, after = (fields + [""] * 6)[:6]
    count, _, line = inner.partition("*")
    body = "\n".join(line.replace("{k}", str(k)) for k in range(int(count))).split("\n")
    head = before.split("\n") if before else []
    rows = [*head, opening, *body, *([closing] if closing else []), *after.split("\n")]
    begin, end = len(head) + 1, len(head) + len(body) + 2
    assert all(map(str.strip, rows[begin + 3 : end - 2]))
    for at in (begin + 3, begin + len(body) // 2 + 1, end - 3):
        for way in WAYS:
            kept = _pruned(rows, at, path, **way).kept_lines
            assert at + 1 in kept
            assert begin in kept, (at, way)
            assert not closing or end in kept, (at, way)


def _too_deep(*_: object) -> None:
    raise DeepSyntaxError("too deep")


OFF = {
    "c": (("#if 0", "#endif"), ("/*", "*/")),
    "cpp": (("#if 0", "#endif"), ("/*", "*/")),
    "csharp": (("#if NEVER", "#endif"), ("/*", "*/")),
    "go": (("/*", "*/"), ("var t = `", "`")),
    "java": (("/*", "*/"), ('String t = """', '""";')),
    "javascript": (("/*", "*/"), ("const t = `", "`;")),
    "php": (("/*", "*/"), ("$t = <<<'EOT'", "EOT;")),
    "ruby": (("=begin", "=end"), ("t = <<~EOT", "EOT")),
    "rust": (("/*", "*/"), ('let t = r#"', '"#;')),
    "tsx": (("/*", "*/"), ("const t = `", "`;")),
    "typescript": (("/*", "*/"), ("const t = `", "`;")),
}


def test_every_language_with_a_grammar_has_rows_for_texts_without_a_tree() -> None:
    assert all(each.wholes or each.name in OFF for each in LANGUAGES if each.grammar)


@pytest.mark.parametrize("language", OFF)
@pytest.mark.parametrize("way", range(2))
def test_a_text_that_is_too_deep_for_its_grammar_says_so_too(
    language: str, way: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a file could switch the grammar off first, and then hide what switches its lines off."""
    opening, closing = OFF[language][way]
    monkeypatch.setattr(document, "parse_mended", _too_deep)
    inner = [f"old_{k} = call_something_long({k}, {k} + 1);" for k in range(20)]
    rows = ["x = 0;", "y = 1;", opening, *inner, closing, "z = 2;"]
    pruned = prune_lines("\n".join(rows) + "\n", np.eye(len(rows))[12], language=language, threshold=0.5)
    assert "line by line" in (pruned.note or "")
    assert {3, 13, len(rows) - 1} <= set(pruned.kept_lines)


@pytest.mark.parametrize(
    "text",
    [
        "\\newif\\ifdraft\n\\drafttrue\n" + "text {k} and more words\n" * 30,
        "\\ifthenelse{a}{b}{c}\n" + "text and more words\n" * 30 + "$a \\iff b$\n",
        "\\ifx\\a\\b\n" + "text and more words\n" * 30,
    ],
)
def test_what_tex_doesnt_end_begins_nothing(text: str) -> None:
    lines = text.count("\n")
    assert _pruned(text.splitlines(), 20, "a.tex", threshold=0.5, min_cut=0).kept_lines == (21,)
    assert lines > 30
