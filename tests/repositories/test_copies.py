"""What a repository holds twice counts once; translations and prose come after code unless they are asked for."""

from pathlib import Path

import pytest
from lamr_repositories import pack
from lamr_repositories.kinds import kind_of

from tests.repositories.conftest import write_files

RETRY = """export function retryRequest(request, limit) {
  // Retries a failed request until the limit is reached.
  for (let attempt = 0; attempt < limit; attempt += 1) {
    if (request.send()) return true;
  }
  return false;
}
"""
QUERY = "How often is a failed request retried before the limit is reached?"
MESSAGES = "".join(
    f'#: src/a.py:{n}\nmsgid "The failed request is retried until the limit is reached, {n}"\nmsgstr "x"\n\n'
    for n in range(9)
)


@pytest.mark.parametrize(
    ("copy", "text"),
    [
        ("dist/bundle.js", "var x = 1;\n\n" + RETRY.replace("  ", "    ")),
        ("build/site/retry.js", RETRY),
        ("app/public/js/retry.js", RETRY),
        ("a/retry.js", "// Everything about requests that failed.\n\n" + RETRY),
    ],
)
def test_a_copy_comes_after_all_else_and_the_source_first(tmp_path: Path, copy: str, text: str) -> None:
    other = "export function limitOf(request) {\n  return request.limit || 3;\n}\n"
    write_files(tmp_path, {"src/retry.js": RETRY, "src/limit.js": other, copy: text})
    result = pack(tmp_path, QUERY, 1_000)
    assert result.files[0].path == "src/retry.js"
    assert copy not in [each.path for each in result.files[:-1]]
    assert result.text.count("attempt += 1") == 1


def test_the_same_function_in_two_files_is_shown_once_in_a_tight_budget(tmp_path: Path) -> None:
    beside = "export function unlike(value) {\n  return value.name + value.request;\n}\n\n"
    write_files(tmp_path, {"v1/http.js": RETRY, "v2/http.js": beside * 3 + RETRY})
    more = "export function limitOf(request) {\n  return request.limit || 3;\n}\n"
    write_files(tmp_path, {f"src/limit{n}.js": f"// {n}\n{more}" for n in range(9)})
    kept = {each.path: each.kept_lines for each in pack(tmp_path, QUERY, 400).files}
    assert 1 in kept["v1/http.js"]
    assert len(kept) > 2
    assert not set(range(13, 20)) & set(kept.get("v2/http.js", ()))


def test_translations_come_after_code_unless_they_are_asked_for(tmp_path: Path) -> None:
    write_files(tmp_path, {"src/retry.js": RETRY, "locale/de/LC_MESSAGES/app.po": MESSAGES})
    assert pack(tmp_path, QUERY, 2_000).files[0].path == "src/retry.js"
    asked = "Which translation says that a failed request is retried until the limit is reached?"
    assert pack(tmp_path, asked, 2_000).files[0].path == "locale/de/LC_MESSAGES/app.po"


@pytest.mark.parametrize(
    ("path", "language", "kind"),
    [
        ("src/locale/ar-dz.js", "javascript", "translation"),
        ("conf/locale/de_AT/formats.py", "python", "translation"),
        ("i18n/translator.ts", "typescript", "code"),
        ("locale/plural.py", "python", "code"),
        ("languages/go/build.go", "go", "code"),
        ("po/fr.po", "gettext", "translation"),
        ("docs/index.rst", "restructuredtext", "prose"),
        ("CHANGELOG.md", "markdown", "prose"),
        ("tests/locale_test.py", "python", "test"),
        ("package.json", "json", "data"),
        ("a/schema.sql", "sql", "code"),
    ],
)
def test_what_a_file_is_follows_from_its_path_and_language(path: str, language: str, kind: str) -> None:
    assert kind_of(path, language) == kind
