"""One pack over several repositories."""

from pathlib import Path

import pytest
from lamr_base.errors import InvalidInputError
from lamr_repositories import pack
from lamr_repositories.pack import unique

from tests.repositories.conftest import FILES, POOL, QUERY, git, write_files


def test_files_of_all_compete_and_their_paths_begin_with_the_repositorys_name(tmp_path: Path) -> None:
    first, second = tmp_path / "one" / "app", tmp_path / "two" / "app"
    write_files(first, {"src/view.py": "def view(pool):\n    return pool.closed\n"})
    write_files(second, FILES)
    git(second, "init", "-q")
    git(second, "add", "-A")
    result = pack([first, second], QUERY, 3_000)
    assert {"app/src/view.py", "app-2/src/pool.py"} <= {each.path for each in result.files}
    assert result.files[0].path == "app-2/src/pool.py"
    assert 'path="app-2/src/pool.py"' in result.text
    assert result.counts.files == 1 + len(FILES)


def test_each_ones_ignore_file_is_for_its_own_files(tmp_path: Path) -> None:
    ignored = {"a": "/pool.py\n", "b": "*.py\n!keep.py\n", "c": "# none\n\nsrc/inner\n"}
    names = ("pool.py", "src/pool.py", "src/inner/pool.py", "src/keep.py")
    for name, rows in ignored.items():
        write_files(tmp_path / name, {".lamrignore": rows, **dict.fromkeys(names, POOL)})
    result = pack([tmp_path / name for name in ignored], QUERY, 30_000)
    listed = {each.path for each in result.files}
    assert not {"a/pool.py", "b/pool.py", "b/src/pool.py", "c/src/inner/pool.py"} & listed
    assert result.counts.left_out["excluded"] == 1 + 3 + 1


def test_a_revision_is_of_one_repository(tmp_path: Path) -> None:
    write_files(tmp_path / "a")
    with pytest.raises(InvalidInputError, match="of one repository"):
        pack([tmp_path / "a", tmp_path / "a"], QUERY, revision="main")
    with pytest.raises(InvalidInputError, match="give a repository"):
        pack([], QUERY)


def test_names_are_made_unique() -> None:
    assert unique(["a", "b", "a", "a-2", "a"]) == ["a", "b", "a-2", "a-2-2", "a-3"]
