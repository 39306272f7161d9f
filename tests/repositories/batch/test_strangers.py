"""What strangers may put where jobs are read and answers written: links, devices, rows without end."""

import contextlib
import io
import os
from pathlib import Path

import pytest
from lamr_repositories.batch import formats
from lamr_repositories.batch.formats import FORMATS
from lamr_repositories.batch.jobs import read_jobs
from lamr_repositories.batch.storage import open_storage
from lamr_repositories.errors import RepositoryError


@pytest.mark.parametrize("name", [".lock", "answers-000001.part"])
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_in_the_place_of_answers_empty_nobodys_file(tmp_path: Path, name: str, link) -> None:
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_text("precious")
    out.mkdir()
    link(victim, out / name)
    with contextlib.suppress(RepositoryError):  # which is what a lock that is a link ends in
        storage = open_storage(out)
        if not (out / name).exists():
            link(victim, out / name)
        storage.write("answers-000001.jsonl", b"{}")
        storage.close()
    assert victim.read_text() == "precious"


def test_a_pipe_in_the_place_of_answers_is_not_waited_for(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    os.mkfifo(tmp_path / "answers-000001.jsonl")
    with pytest.raises(OSError, match="not a regular file"):
        storage.open("answers-000001.jsonl")
    storage.close()
    os.mkfifo(tmp_path / "jobs.jsonl")
    with pytest.raises(RepositoryError, match="not a regular file"):
        list(read_jobs(tmp_path / "jobs.jsonl"))
    with pytest.raises(RepositoryError, match="not a regular file"):
        list(read_jobs("/dev/zero"))


def test_a_row_without_end_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    (deep,) = FORMATS["jsonl"].read(io.BytesIO(b"[" * 200_000))
    assert deep[0] == 1
    assert "is no JSON" in deep[1]
    monkeypatch.setattr(formats, "MOST_ROW_BYTES", 20)
    text = b'{"a": 1}\n' + b"[" * 1000 + b"\n\n" + b'{"b": 2}\n' + b"x" * 21 + b"\n" + b"y" * 200
    found = list(FORMATS["jsonl"].read(io.BytesIO(text)))
    too_long = "has more than 20 bytes"
    assert found == [(1, {"a": 1}), (2, too_long), (4, {"b": 2}), (5, too_long), (6, too_long)]


@pytest.mark.parametrize("place", ["reference://x", "nonsense://x", "memory://\0"])
def test_urls_that_cant_be_opened_say_so(place: str) -> None:
    with pytest.raises(RepositoryError):
        list(read_jobs(place))
