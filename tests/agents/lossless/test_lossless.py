"""What a result loses when it is shortened bears no meaning, and `lamr show` gives it back to the byte."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_agents.intent import Intent
from lamr_agents.local.texts import Archive, Place, Texts
from lamr_agents.lossless import Contexts, Earlier, rows_of, shorten
from lamr_agents.lossless.earlier import Context
from lamr_agents.policy import PROFILES
from lamr_agents.skim import asked_for, skim
from lamr_agents.skimmed import Skim
from lamr_agents.words import MARK
from lamr_sessions import Read

from tests.agents.samples import CODE, pruner

PIECES = st.sampled_from(
    [
        "plain words  ",
        "\x1b[31mred\x1b[0m and back",
        "  1 % done\r 50 % done\r100 % done",
        "Downloading [####      ]  40 %",
        "Downloading [########  ]  80 %",
        "Downloading [##########] 100 %",
        '  File "a.py", line 3, in f\n    return f(n - 1)',
        "/srv/project/source/packages/one/file.py",
        "/srv/project/source/packages/two/file.py",
        "taken bac\x08k",
        "",
        "\x1b]0;title\x07prompt $",
        "[lamr: not lamr's own]",
        "\udce9 half a character",
    ]
)
OUTPUTS = st.lists(st.tuples(PIECES, st.integers(1, 9)), max_size=40).map(
    lambda parts: "".join(f"{piece}\n" * times for piece, times in parts)
)


class Unasked:
    """The pruner of a profile that prunes nothing."""

    def prune(self, *_: Any, **__: Any) -> Any:
        raise AssertionError


def shown_of(text: str, archive: Archive | None, earlier: Earlier | None = None, path: str = "") -> Skim:
    nothing = Intent("", "", "nothing")
    asked = asked_for(text, Read(path), intent=nothing, name="" if path else "output of a command")
    return skim(Unasked(), asked, nothing, PROFILES["lossless"], archive=archive, earlier=earlier)


@given(texts=st.lists(OUTPUTS, min_size=1, max_size=3))
def test_lamr_show_gives_back_every_byte(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    archive = Archive(Texts(tmp_path_factory.mktemp("texts") / "texts.sqlite3"))
    earlier = Earlier()
    for text in texts:
        shown = shown_of(text, archive, earlier)
        if not shown.cut:
            assert shown.text == text
            continue
        assert shown.tokens_out < shown.tokens_in
        place = re.findall(r"`lamr show ([0-9a-f:-]+)`", shown.text)[-1]
        assert archive.texts.lines(Place.parse(place)) == text
        assert archive.texts.lines(Place.parse(place.partition(":")[0])) == text


@given(text=OUTPUTS)
def test_rows_stand_for_every_line_once_and_in_their_order(text: str) -> None:
    shorter = shorten(text, is_file=False, earlier=None)
    numbers = [n for row in shorter.rows if not _only_names(row.text) for n in range(row.first, row.last + 1)]
    assert numbers == list(range(1, shorter.lines + 1))
    assert {*shorter.kept_lines} <= {*numbers}


@given(text=OUTPUTS)
def test_a_file_keeps_every_character_of_the_lines_that_are_left(text: str) -> None:
    lines = text.split("\n")
    for row in shorten(text, is_file=True).rows:
        assert row.mark or row.text == lines[row.first - 1]


def _only_names(text: str) -> bool:
    return text.startswith(MARK) and "lines that begin with" in text


def lines_of(text: str, *, is_file: bool = False, earlier: Earlier | None = None) -> list[str]:
    return shorten(text, is_file=is_file, earlier=earlier).text.splitlines()


def test_a_terminals_colours_titles_and_overwritten_states_go() -> None:
    text = "\x1b]0;make\x07\x1b[1;32mok\x1b[0m\x1b[K  \n" + "10 %\r20 %\r99 %\nab\x08c\nwindows\r\n"
    assert lines_of(text) == ["ok", "99 %", "ac", "windows"]


def test_of_a_progress_the_last_state_stays() -> None:
    bars = [f"Downloading wheels [{'#' * n:<20}] {5 * n} % of 12 MB" for n in range(21)]
    assert lines_of("\n".join(["begin", *bars, "end"]) + "\n") == [
        "begin",
        "[lamr: 20 earlier states of this progress]",
        bars[-1],
        "end",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [f"test_{n} failed after {n} of 40 % of the time, which is a long line" for n in (9, 3, 7, 2, 8)],
        [
            f"disk {disk} is {share} % full, and this is all there is to say of it"
            for disk, share in zip("abc", (9, 8, 7), strict=True)
        ],
    ],
)
def test_lines_that_differ_in_more_or_do_not_grow_tell_no_progress(lines: list[str]) -> None:
    assert lines_of("\n".join(lines) + "\n") == lines


def test_frames_of_a_recursion_are_counted() -> None:
    frame = ['  File "/srv/app/walk.py", line 12, in walk', "    return walk(child)"]
    shown = lines_of("\n".join(["Traceback (most recent call last):", *frame * 50, "RecursionError"]) + "\n")
    assert shown == [
        "Traceback (most recent call last):",
        *frame,
        "[lamr: the 2 lines above 49 more times]",
        "RecursionError",
    ]


def test_folders_that_paths_share_are_named_once() -> None:
    paths = [f"/srv/venv/lib/python3.12/site-packages/pip/{name}.py" for name in "abcdefghij"]
    shown = lines_of("\n".join(["found:", *paths]) + "\n")
    folder = "/srv/venv/lib/python3.12/site-packages/pip/"
    assert shown == [
        "found:",
        f"[lamr: 10 lines that begin with {folder}]",
        *(f"{n}.py" for n in "abcdefghij"),
    ]


LICENCE = """/*
 * Copyright 2026 Somebody
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy, to deal in the software without
 * restriction. The software is provided as it is, without warranty of any kind.
 */
"""


HASHES = """#!/bin/sh
# Copyright 2026 Somebody
#
# Licensed under the Example Licence, version 2; you may not use this file except in compliance with the licence.

"""


@pytest.mark.parametrize(
    ("head", "left"), [(LICENCE, ["[lamr: a licence]"]), (HASHES, ["#!/bin/sh", "[lamr: a licence]", ""])]
)
def test_a_licence_at_a_files_beginning_goes(head: str, left: list[str]) -> None:
    body = "int main(void) {\n  return 0;\n}\n"
    assert lines_of(head + body, is_file=True) == [*left, *body.splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        "// How retries work: the first waits a second, each other one twice as long as the one before it.\n"
        * 3
        + "x = 1\n",
        "/* Copyright 2026 Somebody, all rights reserved; see LICENCE for the words of it, which are many\n x = 1 */\n",
        LICENCE,
    ],
)
def test_other_comments_and_a_file_that_is_a_licence_stay(text: str) -> None:
    assert lines_of(text, is_file=True)[0] == text.splitlines()[0]


def test_what_stands_above_is_named_with_its_lines() -> None:
    earlier = Earlier()
    shown_of(CODE, None, earlier, "/w/a.py")
    changed = CODE.replace("handler_30", "renamed")
    shown = shown_of(changed, None, earlier, "/w/a.py")
    assert shown.reason == "shortened"
    assert "def renamed(" in shown.text
    above = re.findall(r"lines (\d+)-(\d+) are as shown above: /w/a\.py (\d+)-(\d+)", shown.text)
    lines, before = changed.splitlines(), CODE.splitlines()
    assert len(above) > 1
    for a, b, c, d in (map(int, each) for each in above):
        assert lines[a - 1 : b] == before[c - 1 : d]
    assert set(range(1, len(lines) + 1)) == {*shown.kept_lines}


def test_what_was_cut_comes_whole_at_the_second_look_and_is_named_at_the_third() -> None:
    earlier, said = Earlier(), Intent("How does handler_30 work?", "", "question")
    looks = []
    for again in (False, True, True):
        asked = asked_for(CODE, Read("/w/a.py"), intent=said, again=again)
        with pruner() as asking:
            looks.append(skim(asking, asked, said, PROFILES["careful"], earlier=earlier))
    assert [look.reason for look in looks] == ["pruned", "shown before", "shortened"]
    assert looks[1].text == CODE


def test_only_what_was_shown_is_named() -> None:
    earlier, said = Earlier(), Intent("How does handler_30 work?", "", "question")
    with pruner() as asking:
        first = skim(
            asking, asked_for(CODE, Read("/w/a.py"), intent=said), said, PROFILES["careful"], earlier=earlier
        )
    assert first.reason == "pruned"
    copy = shown_of(CODE, None, earlier, "/w/copy.py")
    named = {
        n
        for a, b in re.findall(r"as shown above: /w/a\.py (\d+)-(\d+)", copy.text)
        for n in range(int(a), int(b) + 1)
    }
    assert named <= {*first.kept_lines}


def test_after_a_compaction_nothing_stands_above() -> None:
    contexts = Contexts()
    shown_of(CODE, None, contexts.of(Context("s")), "/w/a.py")
    assert shown_of(CODE, None, contexts.of(Context("s/agent")), "/w/a.py").text == CODE
    assert shown_of(CODE, None, contexts.of(Context("s")), "/w/a.py").reason == "shortened"
    assert shown_of(CODE, None, contexts.of(Context("s", since=5.0)), "/w/a.py").text == CODE


def test_agents_that_were_not_heard_of_for_long_are_forgotten() -> None:
    contexts = Contexts(most=2)
    kept = [contexts.of(Context(name)) for name in ("a", "b", "a", "c")]
    assert kept[0] is kept[2]
    assert contexts.of(Context("a")) is kept[0]
    assert contexts.of(Context("b")) is not kept[1]


@pytest.mark.parametrize("seed", range(3))
def test_hostile_texts_take_no_longer_than_their_size(seed: int) -> None:
    """Each is read once or twice: repeats, prefixes and windows that meet everywhere cost no more."""
    rng = random.Random(seed)
    lines = [rng.choice(["", "a", "}", "/x/y/z/"]) for _ in range(20_000)]
    text = "\n".join(lines) + "\n"
    earlier = Earlier()
    earlier.add("x", rows_of(text))
    assert shorten(text, is_file=False, earlier=earlier).lines == 20_000
    assert shorten("\x1b]" * 50_000 + "\x08" * 50_000, is_file=False).lines == 1


def test_without_an_archive_what_lies_in_no_file_stays(tmp_path: Path) -> None:
    text = "\x1b[31mred\x1b[0m\n" * 200
    assert shown_of(text, None).text == text
    assert shown_of(text, Archive(Texts(tmp_path / "texts.sqlite3"))).cut
    broken = Archive(Texts(tmp_path))  # a folder
    assert shown_of(text, broken).text == text
