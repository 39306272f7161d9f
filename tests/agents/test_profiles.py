"""Profiles: each cuts as boldly as its name says, and users name one for hooks and for the replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from lamr_agents.intent import Intent
from lamr_agents.policy import DEFAULT, PROFILES
from lamr_agents.sessions import Read
from lamr_agents.skim import asked_for, skim
from lamr_base.choices import ProfileName
from lamr_cli.main import app
from typer.testing import CliRunner

from tests.agents.samples import CODE, pruner

SAID = Intent("How does handler_30 set its field?", "", "question")


def test_a_bolder_profile_cuts_more_and_lossless_cuts_nothing_that_is_new() -> None:
    asked = asked_for(CODE, Read("/w/a.py"), intent=SAID)
    with pruner() as asking:
        shown = [skim(asking, asked, SAID, policy) for policy in PROFILES.values()]
    assert shown[0].text == CODE
    lossless, careful, *bolder = (each.tokens_out for each in shown)
    assert lossless > careful > max(bolder)


@pytest.mark.parametrize("name", get_args(ProfileName))
def test_install_writes_the_profile_into_the_hooks_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = CliRunner().invoke(app, ["install", "claude-code", "--profile", name, "--dry-run"])
    assert done.exit_code == 0, done.output
    assert rf"[\"--profile\", \"{name}\"]" in done.output.replace("\\\\", "\\")


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
    assert CliRunner().invoke(app, ["agents", "serve"]).exit_code == 0
    (folder / "lamr.toml").write_text('profile = "eager"\n')
    assert CliRunner().invoke(app, ["agents", "serve"]).exit_code == 0
    assert CliRunner().invoke(app, ["agents", "serve", "--profile", "lossless"]).exit_code == 0
    assert asked == [PROFILES[DEFAULT], PROFILES["eager"], PROFILES["lossless"]]
    (folder / "lamr.toml").write_text('profile = "bold"\n')
    done = CliRunner().invoke(app, ["agents", "serve"])
    assert "profile must be one of lossless, careful, balanced, eager" in str(done.exception) + done.output
