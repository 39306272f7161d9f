"""Sessions of every known host give the same events, big reads and later uses."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from lamr_agents.sessions import (
    FORMATS,
    Edit,
    Event,
    Read,
    big_reads,
    later_uses,
    read_events,
    recognize,
    use_in_all,
)
from lamr_agents.sessions.reads import MOST_HISTORY, SeenResults
from lamr_agents.sessions.shown import framed, shown_lines
from lamr_agents.sessions.tools import (
    Print,
    command_of,
    description_of,
    edits_of,
    patch_edits,
    pattern_of,
    print_of,
    read_of,
    same_file,
    shown_by,
)
from lamr_agents.sessions.uses import located

from tests.timing import growth

LINES = [f"line_{n} = compute_{n}()" for n in range(1, 101)]
TEXT = "\n".join(LINES) + "\n"
NUMBERED = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(LINES, 1))
TASK = "Make the forty-second line compute something else, please, and leave everything else as it is."


def jsonl(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def copilot(kind, **data):
    return {"type": kind, "data": data}


def test_a_sub_agents_read_in_copilots_log_follows_its_own_words():
    """Its steps name the call that started it, and its prompt stands in that call alone."""
    prompt = (
        "Find out, please, how the forty-second line comes to its value, and report it to me in one sentence."
    )
    task = {"toolCallId": "t", "name": "task", "arguments": {"prompt": prompt, "agent_type": "explore"}}
    view = {"toolCallId": "1", "name": "view", "arguments": {"path": "a.py"}}
    log = jsonl(
        copilot("user.message", content=TASK),
        copilot("assistant.message", content="Another looks into it.", toolRequests=[task]),
        copilot("assistant.message", content="I'll read it.", toolRequests=[view], parentToolCallId="t"),
        copilot("assistant.message", content="Meanwhile I wait."),
        copilot(
            "tool.execution_complete", toolCallId="1", result={"content": NUMBERED}, parentToolCallId="t"
        ),
    )
    (read,) = big_reads(read_events(log, recognize(log, FORMATS)))
    assert (read.task, read.intent, read.history) == (prompt, "I'll read it.", "")


@pytest.mark.parametrize(
    ("host", "record"),
    [
        (
            "claude-code",
            {"type": "system", "subtype": "compact_boundary", "timestamp": "T", "sessionId": "s"},
        ),
        ("codex", {"type": "compacted", "timestamp": "T", "payload": {"message": ""}}),
        ("copilot-cli", {"type": "session.compaction_complete", "timestamp": "T", "data": {}}),
        ("pi", {"type": "compaction", "timestamp": "T", "summary": "s", "firstKeptEntryId": "1"}),
        ("openhands-sdk", {"kind": "Condensation", "timestamp": "T", "forgotten_event_ids": []}),
    ],
)
def test_a_compaction_is_an_event_after_which_nothing_was_seen(host, record):
    form = next(form for form in FORMATS if form.name == host)
    (event,) = read_events(jsonl(record), form)
    assert (event.kind, event.text) == ("compacted", "T")
    seen = SeenResults()
    for each in (
        Event("call", call="1", tool="Read", arguments={"file_path": "/w/a.py"}),
        Event("result", NUMBERED * 9, "1"),
    ):
        seen.hear(each)
    assert seen.has("a.py")
    seen.hear(event)
    assert not seen.has("a.py")


PATCH = f"*** Begin Patch\n*** Update File: a.py\n@@\n-{LINES[41]}\n+line_42 = other()\n*** End Patch"


def log_of(path):
    """A session as its host logs it: it reads a file, whose text stands beside it once, and edits line 42."""
    log = path.read_text(encoding="utf-8")
    for name, shown in (("TEXT", TEXT), ("NUMBERED", NUMBERED), ("DOTTED", NUMBERED.replace("\t", ". "))):
        log = log.replace(f"{{{name}}}", json.dumps(shown)[1:-1])
    return log


LOGS = {path.stem: log_of(path) for path in sorted((Path(__file__).parent / "logs").iterdir())}


def read_log(name):
    form = recognize(LOGS[name], FORMATS)
    assert form is not None
    return form, read_events(LOGS[name], form)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_format_gives_the_read_its_words_and_the_line_that_was_needed(form):
    recognized, session = read_log(form.name)
    assert recognized.name == form.name
    (read,) = big_reads(session)
    assert list(read.shown.lines) == LINES
    assert same_file(read.read.path, "a.py")
    assert read.task == TASK
    assert read.intent.startswith("I'll look.")
    use = use_in_all(later_uses(read, session))
    assert use.lines == (42,)
    assert use.edited == (() if form.name == "mini-swe-agent" else (42,))


def test_a_log_of_another_kind_is_not_recognized():
    assert recognize('{"a": 1}\n{"b": 2}\n', FORMATS) is None
    assert recognize("not a log", FORMATS) is None


def test_a_line_that_was_cut_off_is_passed_over():
    form, session = read_log("claude-code")
    assert read_events(LOGS["claude-code"] + '{"parentUu', form) == session


def test_words_in_thought_count_only_where_none_are_aloud():
    _, session = read_log("claude-code")
    assert next(big_reads(session)).intent == "I'll look."
    silent = [event for event in session if event.kind != "assistant"]
    assert next(big_reads(silent)).intent == "Hm."


def test_what_was_said_before_the_last_words_is_history():
    _, session = read_log("claude-code")
    earlier = [Event("assistant", f"{n} is done, with all that it takes. " * 3) for n in range(400)]
    (read,) = big_reads([*earlier, *session])
    assert len(read.history) == MOST_HISTORY
    assert "399 is done" in read.history
    assert "I'll look." not in read.history
    assert next(big_reads(session)).history == ""


def test_what_the_user_says_ends_the_words_before():
    _, session = read_log("pi")
    later = [*session[:2], Event("user", "yes"), *session[2:]]
    (read,) = big_reads(later)
    assert (read.task, read.intent) == (f"{TASK}\n\nyes", "")


@pytest.mark.parametrize("count", [10, 79])
def test_a_short_read_is_not_big(count):
    result = Event("result", "\n".join(LINES[:count]), "1")
    session = [Event("call", call="1", tool="read", arguments={"path": "a.py"}), result]
    assert not list(big_reads(session))
    long = replace(result, text="\n".join(line * 5 for line in LINES[:count]))
    assert len(list(big_reads([session[0], long]))) == (count >= 20)


@pytest.mark.parametrize("path", ["notes.md", "data.json", "unknown"])
def test_only_files_in_a_language_with_a_grammar_count(path):
    call = Event("call", call="1", tool="read", arguments={"path": path})
    assert not list(big_reads([call, Event("result", TEXT, "1")]))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py", Read("a.py")),
        ("cd /w && cat -n a.py 2>/dev/null", Read("/w/a.py")),
        ("sed -n '5,90p' a.py", Read("a.py", 5, 90)),
        ('nl -ba a.py | sed -n "5,90p"', Read("a.py", 5, 90)),
        ("sed -n '5,$p' a.py", Read("a.py", 5)),
        ("head -n 120 a.py", Read("a.py", None, 120)),
        ("cat a.py | head -120", Read("a.py", None, 120)),
        ("head a.py", Read("a.py", None, 10)),
        ("tail -n +5 a.py", Read("a.py", 5)),
        ("tail -20 a.py", None),
        ("cat a.py b.py", None),
        ("cat a.py; ls", None),
        ("cat a.py > b.py", None),
        ("grep x a.py", None),
        ("cat 'a.py", None),
    ],
)
def test_reads_by_shell_commands(command, expected):
    assert read_of("Bash", {"command": command}) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py b.py", Print("a.py b.py", "a.py")),
        ("cd /w && cat a.py && cat 'b c.py' 2>/dev/null", Print("/w/a.py /w/b c.py", "/w/a.py")),
        ("echo '=== a;';cat a.py;echo\ncat b.py", Print("a.py b.py", "a.py")),
        ("cat src/*.py", Print("src/*.py", "src/*.py")),
        ("git show HEAD~2:src/a.py", Print("HEAD~2:src/a.py", "src/a.py")),
        ("git --no-pager show v1:a.py", Print("v1:a.py", "a.py")),
        ("git -C /w show v1:./a.py", Print("v1:./a.py", "./a.py")),
        ("git show HEAD", None),
        ("git show --stat v1:a.py", None),
        ("cat a.py b.md", None),
        ("cat a.py | grep x", None),
        ("cat a.py b.py > c.py", None),
        ("cat $(git ls-files) b.py", None),
        ("cat `ls` b.py", None),
        ("for f in a b; do cat $f.py; done", None),
        ("cat a.py; sed -n 1,3p b.py", None),
        ("cat a.py && pytest", None),
        ("cat <<'EOF' > a.py\nx = 1\nEOF", None),
        ("cat 'a.py b.py", None),
        ("echo done", None),
    ],
)
def test_prints_that_are_no_file(command, expected):
    assert print_of("Bash", {"command": command}) == expected


def test_a_call_shows_one_file_or_a_print():
    assert shown_by("Bash", {"command": "cat a.py"}) == (Read("a.py"), "")
    assert shown_by("Bash", {"command": "cat a.py b.py"}) == (Read("a.py"), "a.py b.py")
    assert shown_by("Bash", {"command": "make"}) is None


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Read", {"file_path": "a.py", "offset": 5, "limit": 10}, Read("a.py", 5, 14)),
        ("Read", {"file_path": "a.py", "limit": 10}, Read("a.py", None, 10)),
        ("view", {"path": "a.py", "view_range": [5, 14]}, Read("a.py", 5, 14)),
        ("view", {"path": "a.py", "view_range": [5, -1]}, Read("a.py", 5)),
        ("read_file", {"target_file": "a.py", "start_line": "5", "end_line": 9}, Read("a.py", 5, 9)),
        ("str_replace_editor", {"command": "str_replace", "path": "a.py"}, None),
        ("Grep", {"path": "a.py", "pattern": "x"}, None),
        ("Read", {}, None),
    ],
)
def test_reads_by_tools(tool, arguments, expected):
    assert read_of(tool, arguments) == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, [Edit("a", "x", "y")]),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x"}, {}]}, [Edit("a", "x", "")]),
        ("edit", {"path": "a", "edits": '[{"oldText": "x", "newText": "y"}]'}, [Edit("a", "x", "y")]),
        ("edit", {"path": "a", "edits": "["}, []),
        ("Write", {"file_path": "a", "content": "y"}, [Edit("a", None, "y")]),
        (
            "exec_command",
            {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"},
            [Edit("a.py", LINES[41], "line_42 = other()")],
        ),
        ("Read", {"file_path": "a"}, []),
        ("str_replace_editor", {"command": "view", "path": "a"}, []),
    ],
)
def test_edits_by_tools(tool, arguments, expected):
    assert list(edits_of(tool, arguments)) == expected


def test_a_patch_gives_an_edit_a_hunk_and_none_for_an_added_file():
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: a.py\n@@ one\n a\n-b\n+c\n@@ two\n-d\n"
        "*** Delete File: gone.py\n*** End Patch"
    )
    assert list(patch_edits(patch)) == [Edit("a.py", "a\nb", "a\nc"), Edit("a.py", "d", "")]
    unified = "diff --git a/x.py b/x.py\nindex 1..2\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-b\n+c\n"
    assert next(patch_edits(unified)) == Edit("x.py", "b", "c")


def test_searches_commands_and_descriptions():
    assert pattern_of("Grep", {"pattern": "x"}) == "x"
    assert pattern_of("Read", {"pattern": "x"}) == ""
    assert command_of("shell", {"command": ["bash", "-lc", "ls"]}) == "ls"
    assert command_of("Read", {"command": "ls"}) is None
    assert description_of({"description": "List files"}) == "List files"


@pytest.mark.parametrize(
    "result",
    [
        TEXT,
        NUMBERED,
        NUMBERED.replace("\t", "→") + "\n<system-reminder>\nno\n</system-reminder>\n",
        "".join(f"{n:05}| {line}\n" for n, line in enumerate(LINES, 1))
        + "\n(End of file - total 100 lines)\n</file>",
        json.dumps({"output": TEXT, "metadata": {}}),
        json.dumps({"returncode": 0, "output": TEXT}, indent=2),
        "Exit code: 0\nWall time: 0 seconds\nOutput:\n" + TEXT,
        TEXT + "\n\n[12 more lines in file. Use offset=101 to continue.]",
    ],
)
def test_what_hosts_put_around_a_files_lines_is_taken_off(result):
    assert list(shown_lines(result).lines) == LINES


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("<output>\n", "\n</output>"),
        ("<returncode>0</returncode>\n<output>\n", "\n</output>\n"),
        (
            "<path>a.py</path>\n<type>file</type>\n<content>\n",
            "\n\n(End of file - total 9 lines)\n</content>",
        ),
        ("", "\n\n(End of file - total 9 lines)\n</file>"),
        ("", "\n\n<system-reminder>\nno\n\n</system-reminder>\n<system-reminder>\nno\n</system-reminder>\n"),
        ("", "\n[12 more lines in file. Use offset=101 to continue.]"),
    ],
)
@pytest.mark.parametrize(
    "code",
    [
        'f("<output>" + text + "</output>" + END)\nx = 1',
        "</output>\n</file>\n(Output of it)\n<system-reminder>\nx",
        "<content>\nan XML file\n</contents>",
        "a\n<system-reminder>x</system-reminder> y",
    ],
)
def test_what_looks_like_a_hosts_words_stays_where_the_host_puts_none(before, code, after):
    assert framed(before + code + after) == (before, code, after)


def test_a_tag_that_closes_nothing_is_the_files_own():
    for text in ("code\n\n</file>\nmore", "code\n</output>\n", "<output>\ncode", "<file>\ncode\n</output>"):
        assert framed(text) == ("", text, "")


def test_numbers_tell_where_the_lines_begin():
    shown = shown_lines("".join(f"{n}→x{n}\n" for n in range(40, 50)))
    assert (shown.first, shown.lines[0]) == (40, "x40")
    assert shown_lines("1. one\n5. two\n9. three\n").first is None


def test_texts_are_located_by_their_words():
    lines = ["def a():", "    return first_value", "", "def b():", "    return second_value", "}"]
    assert located(["def b():", "    return second_value"], lines) == [4, 5]
    assert located(["", "return first_value", ""], lines) == [2]
    assert located(["return first_value", "gone", "    return second_value"], lines) == [2, 5]
    assert located(["}"], lines) == []
    assert located([], lines) == []


def session_after(*events):
    _, session = read_log("pi")
    start = session[: next(n for n, event in enumerate(session) if event.kind == "result") + 1]
    read = next(big_reads(start))
    return use_in_all(later_uses(read, [*start, *events]))


def test_quotes_and_citations_are_needed():
    words = f"`{LINES[6]}` matters, and a.py:10-12 and b.py:20 too."
    assert session_after(Event("assistant", words)).quoted == (7, 10, 11, 12)


def test_reading_a_range_again_is_needed_and_reading_the_whole_again_is_not():
    call = Event("call", call="9", tool="read", arguments={"path": "a.py", "offset": 20, "limit": 3})
    assert session_after(call, Event("result", "\n".join(LINES[19:22]), "9")).reread == (20, 21, 22)
    assert session_after(call, Event("result", TEXT, "9")).lines == ()


def test_of_an_edit_the_changed_lines_are_told_from_those_around():
    old, new = "\n".join(LINES[3:6]), "\n".join([LINES[3], "other()", LINES[5]])
    edit = Event("call", call="9", tool="edit", arguments={"path": "a.py", "oldText": old, "newText": new})
    use = session_after(edit)
    assert (use.edited, use.changed) == ((4, 5, 6), (5,))


def test_a_file_written_anew_needs_the_lines_that_differ_and_another_file_none():
    new = TEXT.replace(LINES[9], "other()")
    write = Event("call", call="9", tool="write", arguments={"path": "a.py", "content": new})
    assert session_after(write).edited == (10,)
    unlike = replace(write, arguments={"path": "a.py", "content": "#"})
    assert session_after(unlike).lines == ()
    elsewhere = replace(write, arguments={"path": "b.py", "content": new})
    assert session_after(elsewhere).lines == ()


def test_records_that_are_nested_too_deeply_are_passed_over():
    deep = json.dumps(claude_user("x")).replace('"x"', "[" * 900 + '"x"' + "]" * 900)
    log = "\n".join(["[" * 100_000, '{"message":' * 50_000, deep, json.dumps(claude_user(TASK))])
    assert [event.text for event in read_events(log, FORMATS[0])][-1] == TASK
    with pytest.raises(ValueError, match="nested too deeply"):
        read_events("[" * 100_000, next(form for form in FORMATS if form.records))


def claude_user(words):
    return {"parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": words}}


@pytest.mark.parametrize(
    ("look", "given"),
    [
        (framed, lambda size: "\n" * size),
        (framed, lambda size: "<path>" + "</path><type>" * size),
        (framed, lambda size: "<system-reminder>\n" * size),
        (framed, lambda size: "<system-reminder></system-reminder>\n" * size),
        (partial(read_of, "Bash"), lambda size: {"command": "cat a.py" + " " * size}),
        (partial(print_of, "Bash"), lambda size: {"command": "cat a.py b.py " * size}),
    ],
    ids=range(6),
)
def test_what_has_no_end_is_looked_at_once(look, given):
    assert growth(look, given, 4_000, 16) < 64  # a square would be 256


def test_what_has_no_end_frames_nothing():
    for text in ("\n" * 9, "<path>" + "</path><type>" * 9):
        assert framed(text) == ("", text, "")
    assert framed("<system-reminder>\n" * 9)[1] == "<system-reminder>\n" * 9
    assert framed("<system-reminder></system-reminder>\n" * 9)[0] == ""
    assert read_of("Bash", {"command": "cat a.py" + " " * 300_000}) is None
    assert print_of("Bash", {"command": "cat a.py b.py " * 300_000}) is None


@pytest.mark.parametrize("offset", [float("inf"), 10**400, "9" * 5000, [1]])
def test_an_offset_that_no_file_has_is_a_number_that_can_be_written(offset):
    read = read_of("Read", {"file_path": "a.py", "offset": offset})
    assert read is not None
    assert read.first is None or read.first <= 1 << 31


def test_a_read_again_counts_where_calls_have_no_names():
    """As in mini-swe-agent's own form: a command in the text, and its output below."""
    session = [
        Event("user", TASK),
        Event("call", tool="shell", arguments={"command": "cat a.py"}),
        Event("result", TEXT),
        Event("call", tool="shell", arguments={"command": "sed -n 42,50p a.py"}),
        Event("result", "\n".join(LINES[41:50]) + "\n"),
        Event("call", tool="shell", arguments={"command": "cat a.py"}),
        Event("result", TEXT),
    ]
    first = next(big_reads(session))
    assert use_in_all(later_uses(first, session)).reread == tuple(range(42, 51))
    assert [(use.place, use.kind, len(use.lines)) for use in later_uses(first, session)] == [
        (3, "reread", 9),
        (5, "shown", 100),
    ]
