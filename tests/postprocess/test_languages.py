"""Which language a text is in, and what a marker looks like there."""

from __future__ import annotations

import pytest
from lamr_postprocess import LANGUAGES, detect_language, language_named, prune_lines


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("a/b.py", "", "python"),
        ("C:\\x\\stub.PYI", "", "python"),
        ("Makefile", "all:\n", "makefile"),
        ("x.yaml", "", "yaml"),
        ("page.html", "", "html"),
        ("noending", "#!/usr/bin/env python3.11\n", "python"),
        (None, "#!/bin/sh\n", "shell"),
        (None, "#!/usr/bin/env -S python3 -u\n", "python"),
        ("tool", "#!/usr/bin/env -S uv run --script\n", "python"),
        ("tool", "#!/usr/bin/env -S npx tsx\n", "typescript"),
        ("tool", "#!/usr/bin/env -i -S TERM=dumb /bin/bash -e\n", "shell"),
        ("tool", "#!/usr/bin/env nix-shell\n#! nix-shell -i ruby -p ruby\n", "ruby"),
        ("tool", "#!/usr/bin/env rust-script\nfn main() {}\n", "rust"),
        (None, "import os\n\ndef f(x):\n    return x\n", "python"),
        (None, "once upon a time\n", "text"),
        (None, "", "text"),
    ],
)
def test_detection(path: str | None, text: str, name: str) -> None:
    assert detect_language(text, path).name == name


def test_names_are_normalized_and_unknown_ones_listed() -> None:
    assert language_named("PY").name == "python"
    with pytest.raises(ValueError, match=r"'intercal'; known: .*python.*sql"):
        language_named("intercal")


def test_no_name_or_ending_belongs_to_two_languages() -> None:
    names = [name for language in LANGUAGES for name in (language.name, *language.aliases)]
    assert len(names) == len(set(names))
    endings = [ending for language in LANGUAGES for ending in language.suffixes | language.filenames]
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize(
    ("language", "line", "marker"),
    [
        ("yaml", "- {}", "# ... 2-3 pruned"),
        ("sql", "{}", "-- ... 2-3 pruned"),
        ("html", "<p>{}</p>", "<!-- ... 2-3 pruned -->"),
        ("css", "{} {{}}", "/* ... 2-3 pruned */"),
        ("text", "{}", "... 2-3 pruned"),
    ],
)
def test_markers_are_comments_of_the_language(language: str, line: str, marker: str) -> None:
    first, *others, last = (line.format(name) + "\n" for name in "abcd")
    pruned = prune_lines(f"{first}{''.join(others)}{last}", [1, 0, 0, 1], language=language, min_cut=0)
    assert pruned.text == f"{first}{marker}\n{last}"
    assert pruned.language == language


def test_styles() -> None:
    code = "a = 1\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb = 2\nc = 3\n"
    assert prune_lines(code, [1, 0, 0], markers="swe-pruner").text == "a = 1\n(filtered 2 lines)\n"
    numbered = prune_lines(code, [1, 0, 1], language="python", line_numbers=True, min_cut=0).text
    assert numbered == "1\ta = 1\n\t# ... 2 pruned\n3\tc = 3\n"
