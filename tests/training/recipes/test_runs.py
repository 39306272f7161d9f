"""Runs end as they do in practice: killed, interrupted, out of disk, spread over processes."""

import json
import os
import signal
import time
from dataclasses import replace
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch
from lamr_export.checkpoint import load_checkpoint, save_checkpoint
from lamr_training.backbone import Vocabulary
from lamr_training.errors import RunError
from lamr_training.loop.examples import ExampleSet
from lamr_training.loop.run_folder import LOG, STATE, RunLog, read_checkpoint
from lamr_training.loop.trainer import train
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.recipes import mini
from lamr_training.recipes.mini import MiniRecipe, MiniSizes, Round
from lamr_training.recipes.runs import PRESETS

from tests.processes import eventually
from tests.training.forked import PATIENCE, ended, forked, told, training
from tests.training.samples import tiny_model

SETTINGS = replace(
    PRESETS["tiny"].settings, steps=12, tokens=2048, seed=1, checkpoint_every=4, validate_every=4, log_every=3
)

pytestmark = pytest.mark.timeout(900)  # on a loaded machine these processes wait for minutes


def laid_out(folder: Path, words: Vocabulary, data: ExampleSet) -> Path:
    """Write what the program needs, and return the start checkpoint.

    The program doesn't make the vocabulary again, because that wouldn't give the same one."""
    data.save(folder / "data.npz")
    words.tokenizer.save(str(folder / "tokenizer.json"))
    model = tiny_model(words)
    model.config = replace(model.config, dropout=0.0)  # so that processes with other seeds can be compared
    save_checkpoint(model, folder / "start", folder / "tokenizer.json")
    return folder / "start"


def rows(folder: Path) -> list[dict[str, Any]]:
    parsed = [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in parsed]


def wait_for(path: Path, running: BaseProcess) -> None:
    while not path.exists():
        assert running.is_alive(), told(path.parents[1])
        time.sleep(0.01)


def test_a_run_that_is_killed_loses_only_what_came_after_its_checkpoint(
    tmp_path: Path, words: Vocabulary, data: ExampleSet
) -> None:
    start = laid_out(tmp_path, words, data)
    settings = replace(SETTINGS, steps=4000)
    running = training(tmp_path, settings)
    wait_for(tmp_path / "run" / STATE, running)
    log = tmp_path / "run" / LOG
    assert eventually(lambda: '"step": 6,' in log.read_text(), PATIENCE)
    running.kill()
    running.join()
    state = read_checkpoint(tmp_path / "run" / STATE)
    assert state is not None
    reached = state["step"]
    assert reached % 4 == 0
    logged = max(row["step"] for row in rows(tmp_path / "run"))
    # A step is logged before its checkpoint is written, so the run may be killed between the two.
    assert logged - reached <= SETTINGS.checkpoint_every
    for name in ("run", "whole"):
        train(load_checkpoint(start), data, tmp_path / name, settings, stop_after=reached + 6)
    assert rows(tmp_path / "run") == rows(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_writes_a_checkpoint_first(
    tmp_path: Path, words: Vocabulary, data: ExampleSet, number: signal.Signals
) -> None:
    laid_out(tmp_path, words, data)
    running = training(tmp_path, replace(SETTINGS, steps=4000, checkpoint_every=3000, log_every=1))
    wait_for(tmp_path / "run" / LOG, running)
    assert running.pid is not None
    os.kill(running.pid, number)
    assert ended(running) == 130, told(tmp_path)
    state = read_checkpoint(tmp_path / "run" / STATE)
    assert state is not None
    assert state["step"] == rows(tmp_path / "run")[-1]["step"]


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, words: Vocabulary, data: ExampleSet) -> None:
    start = laid_out(tmp_path, words, data)
    train(load_checkpoint(start), data, tmp_path / "run", SETTINGS, stop_after=4)
    before = (tmp_path / "run" / STATE).read_bytes()
    running = training(tmp_path, SETTINGS, most=len(before) // 2)
    assert ended(running) == 2, told(tmp_path)
    output = told(tmp_path)
    assert "step 8 couldn't be written" in output
    assert "the one before it is intact" in output
    assert (tmp_path / "run" / STATE).read_bytes() == before
    assert not list((tmp_path / "run").glob("*.part"))
    train(load_checkpoint(start), data, tmp_path / "run", SETTINGS)  # there is room again
    assert rows(tmp_path / "run")[-1]["step"] == 12


def test_a_log_goes_on_after_the_step_it_is_given(tmp_path: Path) -> None:
    log = RunLog(tmp_path, 0)
    for step in (1, 2, 3):
        log.write(step, {"loss": 0.5})
    with (tmp_path / LOG).open("a") as stream:
        stream.write('{"step": 4, "lo')
    RunLog(tmp_path, 2)
    assert [row["step"] for row in rows(tmp_path)] == [1, 2]


def test_a_damaged_checkpoint_is_named(tmp_path: Path, words: Vocabulary, data: ExampleSet) -> None:
    (tmp_path / STATE).write_bytes(b"PK\x03\x04 no more than that")
    with pytest.raises(RunError, match=r"state\.pt: damaged .*remove it to start anew"):
        train(tiny_model(words), data, tmp_path, SETTINGS)


def test_workers_share_a_round_and_say_when_they_were_stopped(
    tmp_path: Path, words: Vocabulary, data: ExampleSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked()
    monkeypatch.setattr(
        mini.processes, "spawn", partial(mini.processes.start_processes, start_method="forkserver")
    )
    start = laid_out(tmp_path, words, data)
    work = WorkFolder(tmp_path)
    data.save(work.examples())
    ExampleSet.of([]).save(work.checks)
    sizes = MiniSizes(rounds=(Round(1),))
    recipe = MiniRecipe(settings=replace(SETTINGS, steps=2), sizes=sizes, workers=2)
    recipe.fit(work)
    alone = train(load_checkpoint(start), data, tmp_path / "alone", replace(SETTINGS, steps=2, accumulate=2))
    for name, value in work.load_after(1).state_dict().items():
        torch.testing.assert_close(alone.state_dict()[name], value, rtol=0, atol=1e-4)
    monkeypatch.setattr(
        mini.processes, "spawn", lambda *_, **__: None
    )  # as if SIGTERM had ended each of them
    with pytest.raises(RunError, match=r"stopped at step 2; run the same command to continue"):
        replace(recipe, settings=replace(SETTINGS, steps=4)).fit(work)
