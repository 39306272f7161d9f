"""What is left of a commit's message, and which messages lead to no line."""

from __future__ import annotations

import pytest
from lamr_training.histories.messages import clean


@pytest.mark.parametrize(
    ("text", "subject", "body"),
    [
        ("Fix crash on empty header lines (#123)", "Fix crash on empty header lines", ""),
        ("IO-512: Close the stream when reading fails.", "Close the stream when reading fails", ""),
        ("[PR #12/abc backport][3.1] Reject control characters early", "Reject control characters early", ""),
        (
            "Keep the order of keys\n\nThe map lost it, see https://example.org/x and 1a2b3c4d5e.\n\n"
            "Fixes #7\nSigned-off-by: A <a@example.org>\n(cherry picked from commit 1a2b3c4d5e)",
            "Keep the order of keys",
            "The map lost it, see and.",
        ),
        (
            "Add proxy settings to the session\n\n* Add tests\n* Read the proxy from the environment\n* fix lint",
            "Add proxy settings to the session",
            "* Read the proxy from the environment",
        ),
        (
            "Handle missing values in the index\n\nA missing value was read as zero.\n\n## Checklist\n\nTested by hand",
            "Handle missing values in the index",
            "A missing value was read as zero.",
        ),
    ],
)
def test_references_trailers_and_forms_go(text: str, subject: str, body: str) -> None:
    message = clean(text)
    assert message is not None
    assert (message.subject, message.body) == (subject, body)


def test_a_conventional_prefix_is_kept_apart() -> None:
    message = clean("fix(parser): keep comments before the first token")
    assert message is not None
    assert message.prefix == "fix(parser): "
    assert message.subject == "keep comments before the first token"


@pytest.mark.parametrize(
    "text",
    [
        "Merge branch 'main' into topic of the day",
        'Revert "Handle missing values in the index"',
        "Bump version to 1.2.3 for the release",
        "v1.2.3",
        "Release 4.5 with many new things",
        "Update dependencies to their newest versions",
        "Fix typo in the comment of parse_header",
        "docs: explain how headers are parsed",
        "Reformat all files with the new settings",
        "Rename parse_header to read_header everywhere",
        "Fix whitespace in three files of ours",
        "chore(deps): bump lodash from 1 to 2",
        "wip wip wip wip wip",
        "Fix it",
        "修复解析器在空输入时崩溃的问题 parse header of file",
        "",
    ],
)
def test_messages_that_lead_to_no_line_are_refused(text: str) -> None:
    assert clean(text) is None
