"""Patterns mean what git says that they mean, in bounded time."""

import random
import subprocess
from pathlib import Path

import pytest
from lamr_repositories import RepositoryError
from lamr_repositories.folders import Folder
from lamr_repositories.ignoring import Budget, Patterns, lines_of

NAMES = [
    "a",
    "b",
    "ab",
    "abc",
    "a.b",
    "foo",
    "bar.py",
    "é",
    "x y",
    "a]",
    "[",
    "a-",
    "\\",
    "*",
    "!x",
    "#c",
    "A",
]
PARTS = [
    *("a", "b", "*", "**", "?", "/", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[[:alpha:]]", "[[:digit:]]", "[a"),
    *("\\a", "\\*", "\\["),
    *( "!", "#", " ", ".", "foo", "*.py", "/**", "**/", "[a-]", "[-a]", "[z-a]", "[[:x:]]", "[\\]]", "é", "[é]", "***"),
    *("[a/b]", "[:a]", "[[:a]", "[\\\\]"),
]  # fmt: skip
ENDS = ["", "\n", "\r\n", " \n", "\\ \n"]


def by_git(root: Path, paths: list[str]) -> dict[str, bool]:
    """What git's own matcher says of each path by itself."""
    asked = ["git", "check-ignore", "-z", "--no-index", "--stdin", "-v", "-n"]
    done = subprocess.run(
        asked,
        input="".join(f"{each}\0" for each in paths).encode(),
        capture_output=True,
        cwd=root,
        check=False,
    )
    fields = done.stdout.split(b"\0")[:-1]
    rows = zip(fields[0::4], fields[2::4], fields[3::4], strict=True)
    return {path.decode(): bool(file) and not pattern.startswith(b"!") for file, pattern, path in rows}


@pytest.mark.parametrize("seed", range(4))
def test_verdicts_are_gits(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for _ in range(40):
        place = tmp_path / "/".join(draw.choices(NAMES, k=draw.randint(1, 4)))
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        except OSError:  # a folder's name is a file's already
            continue
    found = [each for each in tmp_path.rglob("*") if ".git" not in each.relative_to(tmp_path).parts]
    kinds = {str(each.relative_to(tmp_path)): each.is_dir() for each in found}
    for _ in range(20):
        lines = ["".join(draw.choices(PARTS, k=draw.randint(1, 5))) for _ in range(draw.randint(1, 3))]
        text = "\n".join(lines) + draw.choice(ENDS)
        (tmp_path / ".gitignore").write_text(text)
        patterns = Patterns(lines_of(text.encode()), Budget())
        verdicts = by_git(tmp_path, list(kinds))
        ours = {
            path: patterns.covers(f"{path}/x"[: None if is_folder else -2])
            for path, is_folder in kinds.items()
            if not is_folder
        }
        assert ours == {path: verdicts[path] for path in ours}, text


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        (b"a**/**", ["a", "ab", "a.b", "ab/c"]),
        (b"a**/c", ["ab/c"]),
        (b"a**", ["a", "ab", "a.b", "ab/c", "b/a", "b/ab/c", "ba/ab"]),
        (b"b**/**/", ["b/a", "b/ab/c", "ba/ab"]),
        (b"b**//", ["b/a", "b/ab/c"]),
    ],
)
def test_letters_before_all_wildcards_are_taken_off_first(pattern: bytes, covered: list[str]) -> None:
    patterns = Patterns([pattern], Budget())
    names = ["a", "ab", "a.b", "ab/c", "b/a", "b/ab/c", "ba/ab"]
    assert [name for name in names if patterns.covers(name)] == covered


def test_what_patterns_may_cost_is_bounded() -> None:
    with pytest.raises(RepositoryError, match="patterns with wildcards"):
        Patterns([b"*a*"] * 3, Budget(globs=2))
    patterns = Patterns([b"*a*"], Budget(seconds=0))
    with pytest.raises(RepositoryError, match="take longer than"):
        patterns.verdict(b"x", is_folder=False)


def test_broken_patterns_are_passed_over(tmp_path: Path) -> None:
    patterns = Patterns(lines_of(b"!\n[z-a]\n[\n\\\n/\n\xef\n[[:x:]]\nb.py\r\n"), Budget())
    assert patterns.broken == [b"!", b"[", b"\\", b"/", b"[[:x:]]"]
    assert patterns.covers("b.py")
    assert lines_of(b"\xef\xbb\xbfb.py\n") == [b"b.py", b""]
    (tmp_path / ".gitignore").write_bytes(b"[\n\\\n*.log\n")
    (tmp_path / "a.log").write_text("x")
    assert [each.path for each in Folder(tmp_path).files()] == [".gitignore"]
