"""Items about whole repositories, out of a repository that the test makes."""

from __future__ import annotations

from pathlib import Path

from lamr_training.histories.repository_items import repository_items
from lamr_training.records.manifest import Repository

from tests.training.records.repository import FILLER, FIXED, PARSER, TESTS
from tests.training.records.repository import Repository as Made


def test_a_fix_asks_at_its_parent_for_the_lines_that_it_changed(tmp_path: Path) -> None:
    made = Made(tmp_path / "work")
    first = made.commit("Read header lines from a text", {"src/parser.py": PARSER, "src/place.py": FILLER})
    message = "fix: strip spaces around header values (#12)\n\nparse_header kept them.\n\nSigned-off-by: A <a@b.org>"
    made.commit(message, {"src/parser.py": FIXED, "tests/test_parser.py": TESTS})
    made.commit(
        "Print header names in upper case",
        {"src/parser.py": FIXED.replace("return name +", "return name.upper() +")},
    )
    head = made.commit("Fix the empty header, which had no class of its own", {"src/new.py": FILLER})
    row = Repository("someone/headers", head, "MIT", "python", "suite")
    (item,) = repository_items(row, tmp_path / "work" / ".git", 5)
    changed = PARSER.split("\n").index("    return name, value") + 1
    assert item.gold == {"src/parser.py": (changed,)}
    assert item.revision == first
    assert item.query == "strip spaces around header values\n\nparse_header kept them."
    assert item.names_it
    assert (item.repository, item.language) == ("someone/headers", "python")
    assert repository_items(row, tmp_path / "work" / ".git", 0) == []
