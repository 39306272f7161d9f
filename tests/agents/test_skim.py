"""What passes untouched and why, and what an agent is shown of the rest."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import lamr_client
import pytest
from lamr_agents import Known, Policy, ToolResult, intent_of, skim
from lamr_agents.intent import MOST_OWN_WORDS, Intent
from lamr_agents.local.texts import Archive, Place, Texts
from lamr_agents.policy import DEFAULT, OUTLINED, PROFILES, PRUNED
from lamr_agents.sessions import Read
from lamr_agents.skim import asked_for, outline
from lamr_agents.skimmed import Skim
from lamr_base.choices import ProfileName
from lamr_client import AccessDeniedError, ServerUnavailableError
from lamr_client.mock_transport import MockTransport, uniform_answer
from lamr_postprocess import SourceFile

from tests.agents.samples import CODE, SAID, TASK, line_of, pruner
from tests.analyses import ANALYSES, counting
from tests.command import invoke

INTENT = intent_of(Known(said=SAID, task=TASK))
ASKED = asked_for(CODE, Read("/w/a.py"), intent=INTENT)


def skimmed(asked: ToolResult = ASKED, policy: Policy | None = None, rule: Any = None, **more: Any) -> Skim:
    """By a pruner of its own, whose model's rule is `pruner`'s, or the score of all lines."""
    score = rule if isinstance(rule, float) else None
    with pruner(rule if score is None else lambda request: uniform_answer(request, score)) as asking:
        return skim(asking, asked, INTENT, policy, **more)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (replace(ASKED, failed=True), "the tool reports an error"),
        (replace(ASKED, path="notes.txt"), "not code"),
        (replace(ASKED, tokens=1499), "small"),
        (replace(ASKED, lines=119), "small"),
        (replace(ASKED, first=20, last=400), "a range was asked for"),
        (replace(ASKED, first=1, last=150, lines=150), "a range was asked for"),
        (replace(ASKED, first=20), "a range was asked for"),
        (replace(ASKED, again=True), "shown before"),
        (replace(ASKED, intended=False), "nothing is known of why"),
        (replace(ASKED, first=1, last=250, lines=250), None),
        (ASKED, None),
    ],
)
def test_what_passes_and_why(asked: ToolResult, reason: str | None) -> None:
    assert Policy().passes(asked) == reason


def test_what_passes_comes_back_as_it_was_and_unjudged() -> None:
    def never(request):
        raise AssertionError("the pruner was asked")

    shown = skimmed(replace(ASKED, again=True), rule=never)
    assert (shown.text, shown.cut, shown.reason) == (CODE, False, "shown before")
    assert shown.cuts() == []
    assert shown.tokens_in == shown.tokens_out


def test_a_cut_is_named_and_the_note_says_how_to_undo_it() -> None:
    shown = skimmed()
    assert shown.reason == PRUNED
    assert line_of("value_30 =") in shown.kept_lines
    first, last = max(shown.cuts(), key=lambda cut: cut[1] - cut[0])
    names = re.findall(r"def (handler_\d+)", "\n".join(CODE.splitlines()[first - 1 : last]))
    assert f"{first}-{last} pruned: {names[0]}, {names[1]}" in shown.text
    assert shown.text.splitlines()[-1].startswith(
        f"[lamr: {len(shown.kept_lines)} of the lines 1-{ASKED.lines} are shown"
    )
    hidden = sum(last - first + 1 for first, last in shown.cuts())
    assert hidden + len(shown.kept_lines) == shown.lines
    assert shown.tokens_out < shown.tokens_in / 2


OUTPUT = replace(ASKED, name="v1:a.py")


def test_what_lies_in_no_file_is_kept_and_the_note_names_the_place(tmp_path: Path) -> None:
    archive = Archive(Texts(tmp_path / "texts.sqlite3"))
    shown = skimmed(OUTPUT, archive=archive)
    assert shown.reason == PRUNED
    found = re.search(r"`lamr show (\w+:(\d+)-(\d+))` prints the lines \2-\3]\n\Z", shown.text)
    assert found
    first, last = int(found[2]), int(found[3])
    assert (first, last) == max(shown.cuts(), key=lambda cut: cut[1] - cut[0])
    assert archive.texts.lines(Place.parse(found[1])).splitlines() == CODE.splitlines()[first - 1 : last]


def test_what_lies_in_no_file_passes_where_nothing_keeps_it(tmp_path: Path) -> None:
    assert skimmed(OUTPUT).reason == "no file to read the rest from"
    shown = skimmed(OUTPUT, archive=Archive(Texts(tmp_path)))
    assert shown.text == CODE
    assert shown.reason.startswith("not pruned: TextsError: ")


def test_a_file_beside_the_point_is_an_outline_and_is_analysed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counting(monkeypatch)
    shown = skimmed(policy=Policy(least_relevance=0.15, least_saving=0.0), rule=0.001)
    assert shown.reason == OUTLINED
    assert "def handler_0(" in shown.text
    assert "read_header" not in shown.text
    assert "nothing here seems to answer" in shown.text
    assert counts == dict.fromkeys(ANALYSES, 1)


def test_an_outline_names_every_definition_and_nothing_else() -> None:
    code = "x = 1\n\n\nclass A:\n    def f(self):\n        return 1\n\n\ny = 2\n"
    text, kept = outline(SourceFile(code, "a.py"))
    assert kept == (4, 5)
    assert "return" not in text


def test_a_pruner_that_fails_doesnt_fail_the_call() -> None:
    def fails(request):
        raise AccessDeniedError("127.0.0.1:1 refuses")

    shown = skimmed(rule=fails)
    assert (shown.text, shown.failed, shown.late) == (CODE, True, False)
    assert shown.reason.startswith("not pruned: AccessDeniedError: 127.0.0.1:1 refuses")
    assert shown.failure == f"[lamr: {shown.reason}]"


def test_a_server_that_fails_leaves_the_text_to_the_line_model_and_the_note_says_so() -> None:
    def fails(request):
        raise ServerUnavailableError("nothing answers at 127.0.0.1:1")

    shown = skimmed(rule=fails)
    assert (shown.reason, shown.failed) == (PRUNED, False)
    last = shown.text.splitlines()[-1]
    assert last.startswith("[lamr: judged in haste (line model; server unavailable): ")
    assert f"{len(shown.kept_lines)} of the lines" in last


def test_the_time_that_a_host_has_is_when_an_answer_is_wanted() -> None:
    heard = []

    class Hearing(lamr_client.Pruner):
        def prune(self, *arguments, **options):
            heard.append(options)
            return super().prune(*arguments, **options)

    with Hearing(transport=MockTransport(lambda request: uniform_answer(request, 0.5))) as asking:
        skim(asking, ASKED, INTENT, within=5.0)
    assert heard[0]["within"] == 5.0
    assert "timeout" not in heard[0]


def test_a_cut_that_saves_little_isnt_made() -> None:
    shown = skimmed(policy=Policy(least_saving=0.999), rule=1.0)
    assert (shown.text, shown.reason) == (CODE, "little to cut")


def test_what_the_session_pointed_at_is_shown_with_its_surroundings() -> None:
    far = line_of("value_46 =")
    assert far not in skimmed().kept_lines
    shown = skimmed(replace(ASKED, pointed=(far,)))
    ranged = skimmed(replace(ASKED, pointed=(far + 999,), first=1000), Policy(longest_range=0))
    assert {*range(far - 3, far + 9)} <= {*shown.kept_lines}
    assert shown.reason == PRUNED
    assert not ranged.cut  # a range passes


def test_pointing_everywhere_points_nowhere() -> None:
    many = tuple(range(1, 14))
    assert Policy().kept(replace(ASKED, pointed=many), 1, ASKED.lines) == []
    assert Policy().kept(replace(ASKED, pointed=many[:1]), 1, ASKED.lines) == [(1, 9)]
    assert Policy().kept(replace(ASKED, pointed=(120,)), 100, ASKED.lines) == [(18, 29)]
    assert Policy().kept(replace(ASKED, pointed=(99,)), 100, ASKED.lines) == []


def test_a_file_that_was_pointed_at_isnt_beside_the_point() -> None:
    assert skimmed(rule=0.001).reason == OUTLINED
    shown = skimmed(replace(ASKED, pointed=(7,)), rule=0.001)
    assert shown.reason == PRUNED
    assert 7 in shown.kept_lines


def test_the_guides_snippet_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    (snippet,) = (block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "skim(" in block)
    monkeypatch.setattr(lamr_client, "Pruner", lambda _address: pruner())
    exec(snippet, {"code": CODE, "task": TASK})
    assert " pruned" in capsys.readouterr().out


# The query comes from what a host knows; what is missing gives way to the next best


PARSER_TASK, PARSER_SAID = "Fix the parser.", "The lexer comes first."


@pytest.mark.parametrize(
    ("known", "intent"),
    [
        (
            Known(question="Where?", said=PARSER_SAID, description="d", searched="s", task=PARSER_TASK),
            Intent("Where?", PARSER_TASK, "question"),
        ),
        (Known(said=PARSER_SAID, task=PARSER_TASK), Intent(PARSER_SAID, PARSER_TASK, "session")),
        (
            Known(said=PARSER_SAID, description="Show it", searched="lex", task=PARSER_TASK),
            Intent(f"{PARSER_SAID}\nShow it\nlex", PARSER_TASK, "session"),
        ),
        (Known(searched="lex"), Intent("lex", "", "session")),
        (Known(said="same", description="same"), Intent("same", "", "session")),
        (Known(task=PARSER_TASK), Intent(PARSER_TASK, "", "task")),
        (Known(question=" \n", said="  ", task=" "), Intent("", "", "nothing")),
        (
            Known(said=PARSER_SAID, task=PARSER_TASK, pointed=(7,), history="I read \0 it."),
            Intent(PARSER_SAID, PARSER_TASK, "session", (7,), "I read \ufffd it."),
        ),
    ],
)
def test_the_best_that_is_known_is_the_query(known: Known, intent: Intent) -> None:
    assert intent_of(known) == intent


def test_of_many_words_the_last_sentences_are_taken() -> None:
    words = " ".join(f"Sentence number {n} says something." for n in range(100))
    query = intent_of(Known(said=words)).query
    assert MOST_OWN_WORDS - 40 < len(query) <= MOST_OWN_WORDS
    assert query.startswith("Sentence number")
    assert words.endswith(query)


def test_words_without_sentences_are_cut_all_the_same() -> None:
    assert intent_of(Known(said="x" * 9000)).query == "x" * MOST_OWN_WORDS


# Profiles: each cuts as boldly as its name says, and users name one for hooks and for the replay


ASKED_FOR = Intent("How does handler_30 set its field?", "", "question")


def test_a_bolder_profile_cuts_more_and_lossless_cuts_nothing_that_is_new() -> None:
    asked = asked_for(CODE, Read("/w/a.py"), intent=ASKED_FOR)
    with pruner() as asking:
        shown = [skim(asking, asked, ASKED_FOR, policy) for policy in PROFILES.values()]
    assert shown[0].text == CODE
    lossless, careful, *bolder = (each.tokens_out for each in shown)
    assert lossless > careful > max(bolder)


@pytest.mark.parametrize("name", get_args(ProfileName))
def test_install_writes_the_profile_into_the_hooks_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = invoke("install", "claude-code", "--profile", name, "--no-texts", "--dry-run")
    assert done.exit_code == 0, done.output
    expected = rf"[\"--profile\", \"{name}\", \"--no-texts\"]"
    assert expected in done.output.replace("\\\\", "\\")


def test_serve_takes_the_profile_of_the_command_line_before_the_users_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "lamr"
    folder.mkdir()
    asked: list[Any] = []

    class Stand:
        def __init__(self, *_parts: Any, policy: Any, **_options: Any) -> None:
            asked.append(policy)

        def run(self, _idle: float) -> bool:
            return True

    monkeypatch.setattr("lamr_agents.local.server.LocalServer", Stand)
    assert invoke("agents", "serve").exit_code == 0
    (folder / "lamr.toml").write_text('profile = "eager"\n')
    assert invoke("agents", "serve").exit_code == 0
    assert invoke("agents", "serve", "--profile", "lossless").exit_code == 0
    assert asked == [PROFILES[DEFAULT], PROFILES["eager"], PROFILES["lossless"]]
    (folder / "lamr.toml").write_text('profile = "bold"\n')
    done = invoke("agents", "serve")
    assert "profile must be one of lossless, careful, balanced, eager" in str(done.exception) + done.output
