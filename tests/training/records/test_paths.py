"""What paths say: languages, tests, and what nobody of the project wrote by hand."""

from __future__ import annotations

import pytest
from lamr_training.records.paths import holds_tests, shown_language, source_language


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "python"),
        ("packages/core/src/index.ts", "typescript"),
        ("packages/core/src/App.tsx", "tsx"),
        ("ext/parser.c", "c"),
        ("include/lib/a.hpp", "cpp"),
        ("lib/a.rb", "ruby"),
        ("README.md", None),
        ("data/a.json", None),
        ("vendor/x/a.go", None),
        ("third_party/x/a.cc", None),
        ("contrib/zlib/a.c", None),
        ("mkdocs/contrib/search.py", "python"),
        ("dist/app.js", None),
        ("js/app.min.js", None),
        ("api/a.pb.go", None),
        ("src/types.d.ts", None),
        ("pkg/_version.py", None),
        ("Form1.Designer.cs", None),
    ],
)
def test_only_files_that_are_read_by_a_grammar_and_written_by_hand(path: str, language: str | None) -> None:
    found = source_language(path)
    assert (found.name if found else None) == language


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "a/test_b.py",
        "b_test.go",
        "src/a.spec.ts",
        "src/test/java/ATest.java",
        "spec/a_spec.rb",
        "src/FooTests.cs",
        "test/a.c",
        "src/__tests__/a.js",
    ],
)
def test_tests_are_known_by_their_names(path: str) -> None:
    assert holds_tests(path)
    assert not holds_tests(path.replace("test", "prod").replace("Test", "Prod").replace("spec", "prod"))


def test_counts_join_tsx_with_typescript_and_headers_with_their_project() -> None:
    assert shown_language("tsx", "javascript") == "typescript"
    assert shown_language("c", "cpp") == "cpp"
    assert shown_language("c", "ruby") == "c"
