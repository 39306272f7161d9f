"""Nothing outside the roots is read, and what can't be read says why."""

import os
from pathlib import Path

import pytest
from lamr_agents.mcp.workspace import MOST_MATCHES, Match, OutsideRootsError, Workspace
from lamr_client import InvalidInputError
from lamr_postprocess import patterns


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.py").write_text("key = 1\n")
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.py").write_text("import os\nvalue = 1\n")
    (folder / "sub" / "b.py").write_text("value = 2\n")
    (folder / "out.py").symlink_to(tmp_path / "secret.py")
    (folder / "up").symlink_to(tmp_path)
    (folder / "data.bin").write_bytes(b"value\0\1")
    return folder


@pytest.mark.parametrize(
    "path", ["../secret.py", "out.py", "up/secret.py", "/etc/passwd", "sub/../../secret.py", "a\0b"]
)
def test_paths_that_lead_out_are_refused(root: Path, path: str) -> None:
    with pytest.raises(OutsideRootsError):
        Workspace([root]).read(path)


@pytest.mark.parametrize("path", ["loop", "x" * 5000, "x/" * 3000, "fifo", "zero/1"])
def test_paths_that_cant_be_are_said_to_be_none(root: Path, path: str) -> None:
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    (root / "zero").write_text("")
    with pytest.raises(InvalidInputError) as caught:
        Workspace([root]).read(path)
    assert len(str(caught.value)) < 300


def test_files_under_any_root_are_read(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "c.py").write_text("c = 1\n")
    workspace = Workspace([root, other])
    assert workspace.read("sub/b.py") == "value = 2\n"
    assert workspace.read(str(other / "c.py")) == "c = 1\n"


def test_a_file_of_an_older_code_page_is_read(root: Path) -> None:
    for name, encoding in (("latin.py", "latin-1"), ("wide.py", "utf-16")):
        (root / name).write_bytes("name = 'é'\n".encode(encoding))
        assert Workspace([root]).read(name) == "name = 'é'\n"
    assert Workspace([root]).search("name")[0] == [
        Match("latin.py", 1, "name = 'é'"),
        Match("wide.py", 1, "name = 'é'"),
    ]


@pytest.mark.parametrize(
    ("path", "message"), [("none.py", "no such file"), ("sub", "no such file"), ("data.bin", "binary")]
)
def test_what_cant_be_read_says_why(root: Path, path: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Workspace([root]).read(path)


def test_a_search_finds_lines_and_stays_inside(root: Path) -> None:
    found, more = Workspace([root]).search(r"value|key")
    assert found == [Match("a.py", 2, "value = 1"), Match("sub/b.py", 1, "value = 2")]
    assert not more
    assert Workspace([root]).search("value", "sub")[0] == [Match("sub/b.py", 1, "value = 2")]
    assert Workspace([root]).search("import", "a.py")[0] == [Match("a.py", 1, "import os")]
    (root / "wide.py").write_text("x = 1  # " + "far " * 200)
    assert Workspace([root]).search("far")[0][0].text.endswith(" \u2026")


def test_a_search_with_many_matches_ends(root: Path) -> None:
    (root / "many.py").write_text("value = 3\n" * 500)
    found, more = Workspace([root]).search("value")
    assert (len(found), more) == (MOST_MATCHES, True)


def test_a_search_that_cant_be_made_says_why(root: Path) -> None:
    with pytest.raises(InvalidInputError, match="is not a regular expression"):
        Workspace([root]).search("(")
    with pytest.raises(OutsideRootsError):
        Workspace([root]).search("x", "..")


def test_a_search_that_doesnt_end_is_given_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_SECONDS", 0.0)
    with pytest.raises(InvalidInputError, match="searches for more than"):
        Workspace([root]).search("value")


def test_a_search_that_would_backtrack_ends(root: Path) -> None:
    (root / "long.py").write_text("a" * 80 + "!\n")
    assert Workspace([root]).search("^(a|aa)+$") == ([], False)


def test_a_root_must_be_a_folder(root: Path) -> None:
    with pytest.raises(InvalidInputError, match="not a folder"):
        Workspace([root / "a.py"])
    with pytest.raises(InvalidInputError, match="no root"):
        Workspace([])


def test_a_search_passes_over_files_that_hold_secrets_and_a_named_file_is_searched(root: Path) -> None:
    (root / ".env").write_text("LAUNCH=zebra7391\n")
    workspace = Workspace([root])
    assert workspace.search("zebra") == ([], False)
    assert workspace.search("zebra", ".env")[0] == [Match(".env", 1, "LAUNCH=zebra7391")]
