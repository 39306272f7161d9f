"""Texts for hosts that don't show all: what is left fits, or the text passes; savings are of what would be shown."""

import json
import math
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lamr_agents import Known, codex, gemini_cli, intent_of, skim
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store, StoredResult
from lamr_agents.policy import (
    FOR_A_SCRIPT,
    PROFILES,
    PRUNED,
    SHORTENED,
    TOO_LONG,
    Policy,
    ShownLimits,
    utf8_bytes,
    utf16_units,
)
from lamr_agents.sessions import Read
from lamr_agents.skim import asked_for
from lamr_agents.skimmed import Skim
from lamr_postprocess import approximate_tokens

from tests.agents.payloads import RECORDED
from tests.agents.samples import CODE, TASK, code_of, pruner

FUNCTIONS = 400
LONG = code_of(FUNCTIONS, "  # é")
INTENT = intent_of(Known(said="I'll look at handler_30 first.", task=TASK))
BOLD = Policy(threshold=0.02, least_relevance=0.0, least_fitting=0.0)
"""Keeps more than the limits below, and cuts to them."""
NOTE = re.compile(r"\[lamr: (\d+) of the lines 1-(\d+) are shown")


def skimmed(limits: ShownLimits, policy: Policy = BOLD, text: str = LONG, **more: Any) -> Skim:
    with pruner() as asking:
        return skim(
            asking, asked_for(text, Read("/w/a.py"), intent=INTENT, limits=limits, **more), INTENT, policy
        )


@pytest.mark.parametrize(
    "limits",
    [
        ShownLimits(characters=10_000),
        ShownLimits(characters=10_000, size=utf8_bytes),
        ShownLimits(lines=300, size=utf16_units),
        ShownLimits(characters=20_000, lines=120),
        ShownLimits(characters=10_000, size=utf8_bytes).inside("Output:\n", "\nEnd\n"),
    ],
)
def test_what_is_left_fits_and_the_note_is_true(limits: ShownLimits) -> None:
    shown = skimmed(limits)
    assert shown.reason == PRUNED
    assert limits.size(shown.text) <= limits.characters
    assert shown.text.count("\n") <= limits.lines
    assert limits.used(shown.text) > 700_000  # as much as there is room for
    note = NOTE.search(shown.text)
    assert note
    left = [line for line in shown.text.splitlines() if " pruned" not in line and "[lamr: " not in line]
    assert int(note[1]) == len(shown.kept_lines) == len(left)
    assert [LONG.split("\n")[number - 1] for number in shown.kept_lines] == left
    assert "def handler_30(request, response):" in left
    assert shown.tokens_out == approximate_tokens(limits.shown(shown.text))


def test_a_profile_isnt_cut_to_less_than_half_of_what_it_keeps() -> None:
    assert skimmed(ShownLimits(characters=10_000), replace(BOLD, least_fitting=0.5)).reason == TOO_LONG
    kept = skimmed(ShownLimits()).text
    fitting = skimmed(ShownLimits(characters=0.6 * len(kept)), replace(BOLD, least_fitting=0.5))
    assert fitting.reason == PRUNED
    assert len(fitting.text) <= 0.6 * len(kept)


def test_where_the_host_would_cut_the_text_itself_the_lines_that_answer_are_better() -> None:
    limits = ShownLimits(
        characters=9_999,
        uncut=9_999,
        shown=lambda text: text if len(text) < 10_000 else text[:5_000] + text[-5_000:],
    )
    shown = skimmed(limits, PROFILES["careful"])
    assert shown.reason == PRUNED
    assert shown.tokens_out <= shown.tokens_in == approximate_tokens(LONG[:5_000] + LONG[-5_000:])


@pytest.mark.parametrize("limits", [ShownLimits(characters=300), ShownLimits(lines=2), ShownLimits(width=40)])
def test_what_cant_be_made_to_fit_passes(limits: ShownLimits) -> None:
    shown = skimmed(limits)
    assert (shown.text, shown.reason, shown.tokens_out) == (LONG, TOO_LONG, shown.tokens_in)


def test_a_result_that_was_too_long_doesnt_count_as_shown(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        store.add(StoredResult("codex", "s", "Bash", "/w/a.py", TOO_LONG, 9, 9, 0.1))
        assert not store.was_shown("s", 0.0, "/w/a.py")


def test_lines_that_are_named_fit_as_well() -> None:
    known = dict(enumerate(LONG.split("\n")[:1300], 1))
    for characters, reason in ((math.inf, SHORTENED), (10_000, "the profile prunes nothing")):
        asked = asked_for(LONG, Read("/w/a.py"), intent=INTENT, limits=ShownLimits(characters=characters))
        with pruner() as asking:
            assert skim(asking, asked, INTENT, PROFILES["lossless"], known=known).reason == reason


def test_calls_from_a_script_of_codex_are_left_alone_and_count_nothing(tmp_path: Path) -> None:
    (host,) = (host for host in RECORDED.values() if host.name == "codex")
    call = host.shell("cat a.py", CODE)
    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        server = LocalServer(tmp_path / "s", store, pruner, seconds=60.0, policy=Policy())
        assert server.answer(host.call(tmp_path, call, tool_use_id="exec-42ec")) == b""
        (row,) = store.decisions()
        assert (row.reason, row.tokens_in, row.tokens_out) == (FOR_A_SCRIPT, 0, 0)
        assert not store.was_shown(row.session, 0.0, row.path)
        assert host.text_of(json.loads(server.answer(host.call(tmp_path, call, tool_use_id="call_42ec"))))
        assert [row.reason for row in store.decisions()] == [FOR_A_SCRIPT, PRUNED]


def test_codex_is_answered_with_no_more_bytes_than_it_shows() -> None:
    shown = skimmed(codex.LIMITS["Bash"])
    assert shown.reason == PRUNED
    assert len(shown.text.encode()) <= 10_000


def test_gemini_cli_counts_the_two_ends_that_it_would_show() -> None:
    limits = gemini_cli.LIMITS[gemini_cli.SHELL]
    short = skimmed(limits, text=CODE)
    assert short.tokens_in == approximate_tokens(CODE)
    shown = skimmed(limits)
    assert shown.tokens_in == pytest.approx(approximate_tokens("x" * 40_000), rel=0.02)
    assert shown.tokens_out <= shown.tokens_in
    assert utf16_units(shown.text) <= 40_000
    assert skimmed(gemini_cli.LIMITS[gemini_cli.READER]).tokens_in == approximate_tokens(LONG)
