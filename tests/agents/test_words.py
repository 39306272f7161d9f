"""The words for agents: they say what to do with the file, and nothing that an agent could do about lamr."""

import re
from pathlib import Path

import pytest
from lamr_agents import skimmed
from lamr_agents.skimmed import BY_NAME, BY_RANGE, note
from lamr_postprocess import approximate_tokens

AGENTS = Path(skimmed.__file__).parent
WORDS = {name: value for name, value in vars(skimmed).items() if isinstance(value, str) and name.isupper()}
NOTES = [
    note(220, 800, BY_RANGE, numbers=[(1, 800)]),
    note(220, 800, BY_NAME, unseen=2),
    note(220, 800, BY_RANGE, numbers=[(1, 352), (2290, 2631)], why=skimmed.AN_OUTLINE, alike=3),
]
ABOUT_LAMR = re.compile(
    r"\b(?:disabl|switch|turn(?:ed)? off|uninstall|install|setting|config|hook|environment|option|skip|bypass|avoid|"
    r"instead|original|uncut|whole)",
    re.IGNORECASE,
)


@pytest.mark.parametrize("said", [*WORDS.values(), *NOTES])
def test_nothing_says_how_lamr_could_be_left_out(said: str) -> None:
    assert not ABOUT_LAMR.search(said)


@pytest.mark.parametrize("said", NOTES)
def test_a_note_says_what_to_read_in_one_line_of_few_tokens(said: str) -> None:
    assert said.startswith("[lamr: ")
    assert said.endswith("]\n")
    assert said.count("\n") == 1
    assert "read a range of lines" in said
    assert approximate_tokens(said) <= 64


def test_a_note_counts_in_the_files_numbers_where_they_are_known() -> None:
    assert "220 of the lines 1-352, 2290-2631 are shown; 3 of these have" in NOTES[2]
    assert "220 of 800 lines are shown; 2 of these have invisible characters;" in NOTES[1]


def test_no_other_module_has_words_for_agents() -> None:
    """But for the hook's own process, which can't import anything."""
    others = [path for path in AGENTS.rglob("*.py") if path.name not in ("skimmed.py", "thin.py")]
    said = re.compile(r"[\"'](?:\[lamr:|read a range)|are shown\"")
    assert [path.name for path in others if said.search(path.read_text(encoding="utf-8"))] == []
