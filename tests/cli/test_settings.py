"""`lamr.toml` and `lamr config`: which value wins, where it is from, and what a stranger's file can't do."""

import json
import os
from pathlib import Path

import pytest
import typer
from lamr_base.settings_file import KINDS, MOST_BYTES, SettingsError
from lamr_cli.main import app
from lamr_cli.settings import Settings, defaults, project_file

from tests.command import invoke as lamr
from tests.command import run_main

OWN = 'server = "127.0.0.1:9001"\nmodel = "models/ours"\nmax_tokens = 9000\nexclude = ["*.sql"]\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "config" / "lamr"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("LAMR_SERVER", raising=False)
    return folder


@pytest.fixture
def project(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert home.is_dir()
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "area.py").write_text("def area(width, height):\n    return width * height\n")
    (root / "area.sql").write_text("select width * height as area;\n")
    monkeypatch.chdir(root)
    return root


def in_force() -> dict[str, tuple[object, str]]:
    found = json.loads(lamr("config", "--json").stdout)
    return {key: (each["value"], each["source"]) for key, each in found.items()}


def packed(*options: str) -> tuple[set[str], int]:
    asked = ("pack", ".", "-q", "area width height", "--no-cache", "--json", "--quiet")
    data = json.loads(lamr(*asked, *options).stdout)
    return {each["path"] for each in data["files"]} - {"lamr.toml"}, data["max_tokens"]


def test_the_command_line_wins_over_the_project_and_that_over_the_user(home: Path, project: Path) -> None:
    assert packed() == ({"area.py", "area.sql"}, 32_000)
    (home / "lamr.toml").write_text('max_tokens = 9000\nexclude = ["*.sql"]\n')
    assert packed() == ({"area.py"}, 9000)
    (project / "lamr.toml").write_text('max_tokens = 700\nexclude = ["*.py"]\n')
    assert packed() == ({"area.sql"}, 700)
    assert packed("--max-tokens", "800", "--exclude", "*.md") == ({"area.py", "area.sql"}, 800)


def test_config_says_what_is_in_force_and_where_from(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(in_force().values()) == {(None, "default")}
    own, theirs = home / "lamr.toml", project / "lamr.toml"
    own.write_text(OWN)
    theirs.write_text("max_tokens = 700\n")
    monkeypatch.setenv("LAMR_SERVER", "127.0.0.1:9002")
    monkeypatch.chdir(project / "src")
    assert json.loads(lamr("config", "--json").stdout)["server"]["value"] == "127.0.0.1:9002"
    found = in_force()
    assert found["server"] == ("127.0.0.1:9002", "environment: LAMR_SERVER")
    assert found["model"] == (str(home / "models/ours"), str(own))
    assert found["max_tokens"] == (700, str(theirs))
    assert found["exclude"] == (["*.sql"], str(own))
    shown = lamr("config").stdout
    assert all(key in shown for key in KINDS)
    assert str(theirs) in shown


def test_the_users_server_is_asked(home: Path, project: Path) -> None:
    (home / "lamr.toml").write_text('server = "127.0.0.1:1"\n')
    done = lamr("status", "--timeout", "1")
    assert "127.0.0.1:1" in str(done.exception)
    assert lamr("status", "--server", "").exit_code == 0
    assert lamr("prune", "area.py", "-q", "How is the area computed?", "--server", "").exit_code == 0


@pytest.mark.parametrize("command", ["prune", "view", "pack", "status", "serve"])
def test_a_projects_file_names_no_server_and_no_model(project: Path, command: str) -> None:
    (project / "lamr.toml").write_text('server = "127.0.0.1:1"\nmodel = "evil"\nmax_tokens = 700\n')
    group = typer.main.get_command(app)
    taken = defaults(Settings(project), group)[command]
    for key in ("server", "model"):
        assert taken.get(key, lambda: None)() is None
    done = lamr("prune", "area.py", "-q", "How is the area computed?")
    assert done.exit_code == 0
    assert f"{project}/lamr.toml sets server and model, which isn't used" in done.stderr
    assert done.stderr.count("isn't used") == 1
    assert {"server", "model"} & {key for key, (value, _) in in_force().items() if value} == set()


def test_every_command_that_takes_a_server_takes_the_users(home: Path, project: Path) -> None:
    (home / "lamr.toml").write_text(OWN)
    taken = defaults(Settings(project), typer.main.get_command(app))
    assert taken["batch"]["servers"]() == ["127.0.0.1:9001"]
    assert taken["agents"]["serve"]["model"]() == str(home / "models/ours")
    assert "server" not in taken["install"]
    assert [name for name, found in taken.items() if "max_tokens" in found] == ["pack"]


BAD = [
    ('server = "a"\nmax_tokens = 0\n', 2, "max_tokens must be a whole number"),
    ("max_tokens = true\n", 1, "max_tokens must be"),
    ("\nexclude = '*.sql'\n", 2, "exclude must be a list"),
    ("exclude = [1]\n", 1, "exclude must be a list"),
    ('\n\nserver = "a\\u001b[2J"\n', 3, "server must be a text"),
    ("[pack]\nmax_tokens = 3\n", 1, "there is no setting 'pack'"),
    ('\n"budget" = 3\n', 2, "there is no setting 'budget'"),
    ("max_tokens = 3\nmax_tokens = 4\n", 2, "it isn't TOML: "),
    ("max_tokens =", 1, "it isn't TOML: "),
    ("max_tokens = " + "9" * 5000, None, "it isn't TOML: a value is too long"),
    ("a = " + "[" * 8000, None, "it nests too deep"),
    ("#" * (MOST_BYTES + 1), None, "it is larger than 16 KiB"),
    ("#\n# \udcff", 2, "it isn't UTF-8"),
]


@pytest.mark.parametrize(("text", "line", "words"), BAD, ids=range(len(BAD)))
def test_a_file_that_cannot_be_used_is_named_with_its_line(
    project: Path, text: str, line: int | None, words: str
) -> None:
    path = project / "lamr.toml"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(SettingsError) as caught:
        Settings(project).of_files("exclude")
    assert str(caught.value).startswith(f"{path}{'' if line is None else f':{line}'}: ")
    assert words in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert lamr("pack", "--help").exit_code == 0


def test_the_command_ends_with_a_message(project: Path) -> None:
    (project / "lamr.toml").write_text("max_tokens = 0\n")
    done = run_main("pack", ".", "-q", "x")
    assert done.returncode == 2
    assert "lamr.toml:1: max_tokens must be" in done.stderr


def test_only_a_regular_file_is_read(project: Path, home: Path) -> None:
    path = project / "lamr.toml"
    (project / "real.toml").write_text("max_tokens = 700\n")
    path.symlink_to("real.toml")
    with pytest.raises(SettingsError, match="it is a link"):
        Settings(project).of_files("exclude")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="no regular file"):
        Settings(project).of_files("exclude")
    path.unlink()
    path.mkdir()
    with pytest.raises(SettingsError, match="no regular file"):
        Settings(project).of_files("exclude")
    path.rmdir()
    (home / "lamr.toml").symlink_to(project / "real.toml")  # as those who keep their settings in git have it
    assert Settings(project).of_files("max_tokens") == 700
    (project / "real.toml").chmod(0o666)
    with pytest.raises(SettingsError, match="everybody may write it"):
        Settings(project).of_user("server")


def test_the_search_ends_at_the_repositorys_root(project: Path, tmp_path: Path, home: Path) -> None:
    (tmp_path / "lamr.toml").write_text("max_tokens = 1\n")
    assert project_file(project / "src") is None
    (project / "lamr.toml").write_text("max_tokens = 2\n")
    assert project_file(project / "src") == project / "lamr.toml"
    (project / "src" / "lamr.toml").write_text("max_tokens = 3\n")
    assert project_file(project / "src") == project / "src" / "lamr.toml"
    alone = tmp_path / "alone" / "below"
    alone.mkdir(parents=True)
    (tmp_path / "alone" / "lamr.toml").write_text("max_tokens = 4\n")
    assert project_file(alone) is None
    assert project_file(tmp_path) == tmp_path / "lamr.toml"
    (home / "lamr.toml").write_text(OWN)
    assert project_file(home) is None


def test_effort_and_time_are_the_users_own_and_those_of_one_file(home: Path, project: Path) -> None:
    (home / "lamr.toml").write_text('effort = "instant"\nwithin = 5\n')
    taken = defaults(Settings(project), typer.main.get_command(app))
    assert (taken["prune"]["effort"](), taken["prune"]["within"]()) == ("instant", 5)
    assert "effort" not in taken["pack"], "a pack asks no encoder"
    assert "effort" not in taken["eval"], "a measurement says itself what it measures"
    asked = ("prune", "area.py", "-q", "area width height")
    assert " · line model · " in lamr(*asked).stderr
    assert " · the one chunk · " in lamr(*asked, "--effort", "full").stderr
    (home / "lamr.toml").unlink()
    (project / "lamr.toml").write_text('effort = "instant"\n')
    assert "effort, which isn't used" in lamr(*asked).stderr
    for wrong in ('effort = "lazy"', "within = 0", "within = true", 'effort = ["full"]'):
        (home / "lamr.toml").write_text(wrong)
        with pytest.raises(SettingsError, match=r"lamr\.toml:1: (effort|within) must be"):
            _ = Settings(project).user
