"""What strangers wrote reaches no terminal as it is: names, messages and code with control characters."""

import ast
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from lamr_base.errors import LamrError, ModelMismatchError, unseen_lines, visible
from lamr_cli import exits, printing

from tests.command import run_main
from tests.test_house import FOLDERS

NASTY = "\x1b]0;owned\x07\x9b2J\x7f\r\u202e\u2066\u2028\u200b\ufeff\ud800\U000e0041"
LAMR = Path(sys.executable).with_name("lamr")


def test_what_cant_be_seen_becomes_visible() -> None:
    shown = visible(f"a{NASTY}b\n\t")
    assert shown == "a␛]0;owned␇<009b>2J␡␍<202e><2066><2028><200b><feff><d800><e0041>b␊␉"
    assert visible("a\tb\nc\r\nd\re\x1b", lines=True) == "a\tb\nc\r\nd␍e␛"
    for plain in (
        "naïve Größe 漢字 👩‍👩‍👧 → «» € ❤\ufe0f 1\ufe0f\u20e3 \u0645\u06cc\u200c\u062e \u0915\u094d\u200d\u0937",
        "",
    ):
        assert visible(plain) == plain
    latin = "".join(map(chr, {*range(0x100)} - {0xA0, 0xAD}))  # a wide space and a hyphen, which do no harm
    assert visible(latin).isprintable()


UNSEEN = (
    *"\x7f\x85\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202e",
    *"\u2060\u2061\u2066\u2069\u206f\u2800\u3164\ufe00\ufe01\ufe0e\ufe0f\ufeff\uffa0\ufff9\U0001bca0\U0001d173\ud800",
    *"\U000e0001\U000e0041\U000e007f\U000e0100\U000e0141\U000e01ef",
)


@pytest.mark.parametrize("sign", UNSEEN, ids=lambda sign: f"{ord(sign):04x}")
def test_no_sign_hides_in_what_lamr_says(sign: str) -> None:
    for text in (f"get{sign}x", sign, f"é{sign}", f"{sign}{sign}", f"❤\ufe0f{sign}{sign}"):
        assert visible(text).count(sign) <= text.count(f"❤{sign}") + text.count(f"\ufe0f{sign}") * (
            sign in "\u200c\u200d"
        )
        assert unseen_lines(f"é{text}\r\nx\ré{text}\n") == 2
    error = ModelMismatchError(f"a{sign}\nb.py: is broken", path=f"a{sign}\nb.py")
    assert str(error) == f"a{visible(sign)}␊b.py: is broken"


def test_what_is_seen_doesnt_count_as_unseen() -> None:
    assert unseen_lines("\ufeffa\tb\x1b[31m\r\nnaïve ❤\ufe0f 👩‍👩‍👧\f漢字 \u0645\u06cc\u200c\u062e\n") == 0
    assert unseen_lines("") == unseen_lines("plain\n\x00") == 0


def test_every_command_writes_in_one_place() -> None:
    """Else there is a place where nobody thinks of it."""
    for path in FOLDERS["lamr_cli"].rglob("*.py"):
        if path.name in ("printing.py", "exits.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in (
                "print",
                "typer.echo",
                "typer.secho",
                "sys.stdout.write",
                "sys.stderr.write",
            ), f"{path.name}:{node.lineno} writes by {called}; `lamr_cli.printing` does"


@pytest.mark.parametrize(
    "error",
    [LamrError(f"x{NASTY}"), OSError(2, "No such file", f"a{NASTY}.py"), OSError(2, "no", b"a\x1b.py")],
)
def test_errors_are_explained_visibly(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    exits.explain(error)
    said = capsys.readouterr().err
    assert said.startswith("lamr: ")
    assert said.count("\n") == 1
    assert not set(NASTY) & (set(said) - {"2", "J", "o"} - set("]0;owned"))


def test_messages_are_said_visibly(capsys: pytest.CaptureFixture[str]) -> None:
    printing.say(f"two\nlines{NASTY}", err=True)
    printing.say_meanwhile("a\x1b[31m\nb")
    assert (
        capsys.readouterr().err
        == f"{visible(f'two{chr(10)}lines{NASTY}', lines=True)}\n{printing.ERASED}a␛[31m␊b"
    )


CODE = "def f(a):\n\treturn '\x1b[31m\u202e'  # \x9b\n" * 3
QUERY = ("-q", "what is returned", "--threshold", "0", "--quiet")


def on_a_terminal(*command: str | Path, cwd: Path) -> bytes:
    """What a command writes on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb"}
    process = subprocess.Popen([*map(str, command)], stdout=theirs, stderr=theirs, cwd=cwd, env=environment)
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 1 << 16):
            written += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    process.wait(60)
    return written


def test_code_is_visible_on_a_terminal_and_as_it_is_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")
    shown = on_a_terminal(LAMR, "prune", "a.py", *QUERY, cwd=tmp_path).decode().replace("\r\n", "\n")
    assert shown == visible(CODE, lines=True)
    piped = subprocess.run([LAMR, "prune", "a.py", *QUERY], cwd=tmp_path, capture_output=True, check=True)
    assert piped.stdout == CODE.encode()


@pytest.mark.parametrize("there", [False, True])
def test_a_file_of_a_strange_name_is_named_visibly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "no\x1b]0;owned\x07\nsuch\u202e.py"
    if there:
        (tmp_path / name).write_text("def f7(a):\n    return a\n\n" * 20, encoding="utf-8")
    asked = [("prune", name, "-q", "what f7 returns"), ("view", name, "-q", "x")]
    asked.append(("pack", "." if there else name, "-q", "none", "--no-cache"))
    for command, code in zip(asked, (0, 0, 4) if there else (2, 2, 2), strict=True):
        ran = run_main(*command)
        assert ran.returncode == code, ran.stderr
        assert not set("\x1b\x07\u202e") & set(ran.stdout + ran.stderr)
