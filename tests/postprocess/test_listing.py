"""What tools list is told from what only looks like it, and read without what stands before the lines."""

from __future__ import annotations

import re

import numpy as np
import pytest
from lamr_postprocess import prune_lines, split_lines
from lamr_postprocess.listing import read_listing
from lamr_postprocess.source_file import SourceFiles

LISTINGS = {
    "grep in dated folders": (
        "".join(f"logs/2026-05-0{day}/app.log:{at}:ERROR {at}\n" for day in (1, 2, 3) for at in (3, 9)),
        ["logs/2026-05-01/app.log", "logs/2026-05-02/app.log", "logs/2026-05-03/app.log"],
        [3, 9, 3, 9, 3, 9],
        "ERROR 3\n",
    ),
    "grep where folders have numbers between dashes": (
        "vue-2-compat/a.ts-1-import x\nvue-2-compat/a.ts:2:let a\nvue-2-compat/a.ts-3-b\n--\nvue-2-compat/b.ts:9:c\n",
        ["vue-2-compat/a.ts", "vue-2-compat/b.ts"],
        [1, 2, 3, 0, 9],
        "import x\n",
    ),
    "git grep -p": (
        "src/a.c=1=int f(void)\nsrc/a.c:2:  a();\nsrc/b.c=7=int g(void)\nsrc/b.c:9:  a();\n",
        ["src/a.c", "src/b.c"],
        [1, 2, 7, 9],
        "int f(void)\n",
    ),
    "grep -r": ("src/a.c:  a();\nsrc/b.c:  b();\nsrc/b.c:int c;\n", ["src/a.c", "src/b.c"], [0, 0, 0], "  a();\n"),
    "rg with headings": (
        "src/a.c\n2:  a();\n3-  b();\n\nsrc/b.c\n9:  a();\n--\n12:x\n",
        ["src/a.c", "src/b.c"],
        [0, 2, 3, 0, 0, 9, 0, 12],
        "\n",
    ),
    "rg --vimgrep": (
        "src/a.c:2:5:  a(a());\nsrc/a.c:2:9:  a(a());\nsrc/b.c:9:1:a();\n",
        ["src/a.c", "src/b.c"],
        [2, 2, 9],
        "  a(a());\n",
    ),
    "grep of Windows' paths": (
        "C:\\x\\y.cs:12:int a;\r\nC:\\x\\y.cs:14:int b;\r\n",
        ["C:\\x\\y.cs"],
        [12, 14],
        "int a;\r\n",
    ),
    "files without an ending": (
        "LICENSE:3:MIT\nLICENSE:4:x\nbin/lamr:7:y\n",
        ["LICENSE", "bin/lamr"],
        [3, 4, 7],
        "MIT\n",
    ),
    "what grep says beside": (
        "a.py:3:x\nBinary file a.pyc matches\ngrep: b: Is a directory\nb.py:4:y\n",
        ["a.py", "b.py"],
        [3, 0, 0, 4],
        "x\n",
    ),
    "grep in colours": (
        "\x1b[35ma.c\x1b[0m:\x1b[32m2\x1b[0m:  \x1b[31ma\x1b[0m();\n\x1b[35ma.c\x1b[0m:\x1b[32m4\x1b[0m:  a();\n",
        ["a.c"],
        [2, 4],
        "  a();\n",
    ),
    "git blame": (
        "^1a2b3c4d (Ann Lee 2026-05-01 10:22:30 +0200  8) import os\n"
        "5e6f7a8b9 (Bo      2026-05-01 10:22:30 +0200  9) \n"
        "5e6f7a8b9 src/x.py (Bo 2026-05-01 10:22:30 +0200 10) def f():\n",
        [],
        [8, 9, 10],
        "import os\n",
    ),
    "git blame -s": ("1a2b3c4d 1) import os\n1a2b3c4d 2)\n1a2b3c4d 3) x\n", [], [1, 2, 3], "import os\n"),
    "git annotate": (
        "1a2b3c4d\t(Ann Lee\t2026-05-01 10:22:30 +0200\t1)import os\n1a2b3c4d\t(Bo\t2026-05-01 10:22:30 +0200\t2)x\n",
        [],
        [1, 2],
        "import os\n",
    ),
    "bat": (
        "───────┬──────────\n       │ File: src/x.py\n───────┼──────────\n"
        "   1   │ import os\n   2   │ \n   3   │ x = 1\n"
        "───────┴──────────\n",
        ["src/x.py"],
        [0, 0, 0, 1, 2, 3, 0],
        "\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTINGS)
def test_a_tools_listing_is_read(name: str) -> None:
    text, paths, numbers, first = LISTINGS[name]
    listing = read_listing(text)
    assert listing is not None
    assert listing.places is not None
    assert (list(listing.places.paths), listing.files) == (paths, len(paths))
    assert listing.places.number.tolist() == numbers
    assert split_lines(listing.body)[0] == first
    assert len(split_lines(listing.body)) == len(split_lines(text))
    assert listing.path == (paths[0] if len(paths) == 1 else None)


def logged(form: str) -> str:
    return "".join(form.format(i, 9 + i) for i in range(30))


@pytest.mark.parametrize(
    "text",
    [
        logged("10:22:{0:02d} [pool-1] INFO started\n"),
        logged("{1:02d}:00 started\n"),
        logged("2026-05-01T10:22:{0:02d}.123Z INFO started\n"),
        logged("2026-05-01 10:22:{0:02d},123 INFO started\n"),
        logged('127.0.0.1 - - [01/May/2026:10:22:{0:02d} +0000] "GET /a.js HTTP/1.1" 200 12\n'),
        logged("May  1 10:22:{0:02d} host sshd[12]: accepted\n"),
        logged("web-1  | 10:22:{0:02d} accepted\n"),
        logged('{{"ts": "2026-05-01T10:22:{0:02d}Z", "msg": "a"}}\n'),
        logged("INFO:{0}:started\n"),
        "a.c:3:5: error: x\na.c:7:5: warning: y\n",
        "a.py:1:1: F401 'os' imported but unused\na.py:9:80: E501 line too long\n",
        "a.py:1: error: Incompatible\na.py:9: note: See\n",
        "./a.go:3:5: undefined: x\n./a.go:7:5: undefined: y\n",
        "C:\\x\\y.cs(12,5): error CS1002: ; expected\nC:\\x\\y.cs(14,5): error CS1002: ; expected\n",
        "a.rb:12:in `take': closed (RuntimeError)\na.rb:9:in `run'\n",
        "example.com:443: refused\nexample.com:443: refused\n",
        "https://a.org/x.js:12:3 at f\nhttps://a.org/x.js:13:3 at g\n",
        "app.name: x\napp.port: y\n",
        "app.name:x\napp.port:y\n",
        "a.c:7:x\na.c:3:y\n",
    ],
)
def test_what_only_looks_like_a_listing_is_none(text: str) -> None:
    assert read_listing(text) is None
    assert prune_lines(text, np.zeros(len(split_lines(text))), path="a.log").note is None


def test_a_log_in_colours_is_read_without_them() -> None:
    listing = read_listing("\x1b[32mINFO\x1b[0m a\n\x1b]8;;http://a\x1b\\b\x1b]8;;\x1b\\\n")
    assert listing is not None
    assert (listing.body, listing.first, listing.files, listing.places) == ("INFO a\nb\n", 1, 0, None)


@pytest.mark.parametrize("text", ["a\nb\n\x1b[0m", "a\r\x1b[0m\nb\n"])
def test_a_line_of_colours_alone_stays_a_line(text: str) -> None:
    scores = [0.9] + [0.1] * (len(split_lines(text)) - 1)
    assert prune_lines(text, scores, threshold=0.5).kept_lines == (1,)


def test_a_listing_of_many_paths_takes_no_time_of_its_square() -> None:
    path = "src/" + "deep/" * 9
    text = "".join(f"{path}x-{i}-y.py:{i + 1}:x = 1\n{path}x-{i}-y.py-{i + 2}-y\n" for i in range(5000))
    listing = read_listing(text)
    assert listing is not None
    assert listing.files == 5000


NUMBERED = [
    "{n:6d}\tint a{k} = compute_something_long({k});",
    "{n}: int a{k} = compute_something_long({k});",
    "{n}:int a{k} = compute_something_long({k});",
    "{n} | int a{k} = compute_something_long({k});",
    "{n}. int a{k} = compute_something_long({k});",
    "src/a.c:{n}:int a{k} = compute_something_long({k});",
    "src/a.c:int a{k} = compute_something_long({k});",
]


@pytest.mark.parametrize("form", NUMBERED)
@pytest.mark.parametrize("path", ["a.c", "a.txt", "a.py", None])
def test_a_files_own_text_is_no_listing(form: str, path: str | None) -> None:
    code = "".join(form.format(n=k + 1000, k=k) + "\n" for k in range(40))
    scores = np.eye(40)[29]
    files, place = SourceFiles(), path or ""
    told = prune_lines(files.of(code, place), scores, threshold=0.5)
    own = prune_lines(files.of(code, place, listed=False), scores, threshold=0.5)
    numbers = [int(each) for each in re.findall(r"(\d+)(?:-\d+)? pruned", own.text)]
    assert max(numbers, default=0) <= 40
    assert own.text == prune_lines(code, scores, path=path, threshold=0.5, listed=False).text
    assert told.text == prune_lines(code, scores, path=path, threshold=0.5).text
