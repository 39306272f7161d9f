"""The half-done output of `label_file`, and what of it may be trusted after an interruption.

A line of the journal is written after the block it tells of; whatever the part file holds beyond the last whole line
is cut off when a run goes on. Knows the two files; knows no labels.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from lamr_evaluation.records import Problem

from lamr_training.labels.block import LabelledBlock


class Journal:
    """An output file in the making.

    Attributes:
        line, read, written: input lines done, input bytes done, output bytes that belong to them.
        past: what earlier runs did, without the rows.
    """

    def __init__(self, target: Path, part: BinaryIO, log: BinaryIO) -> None:
        self._target, self._part, self._log = target, part, log
        self.line = self.read = self.written = 0
        self.past: list[LabelledBlock] = []

    @classmethod
    def open(cls, source: Path, target: Path, settings: Mapping[str, Any]) -> Journal:
        """Go on with the journal of an interrupted run if it was of the same file and settings, else begin."""
        stat = source.stat()
        head = json.dumps(
            {"size": stat.st_size, "changed": stat.st_mtime_ns, "settings": settings}, sort_keys=True
        )
        part, log = _beside(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        known = _read_log(log)
        if part.exists() and known[:1] == [head.encode() + b"\n"]:
            made = cls(target, part.open("r+b"), log.open("r+b"))
            made._go_on(known)
            return made
        made = cls(target, part.open("wb"), log.open("wb"))
        made._log.write(head.encode() + b"\n")
        made._log.flush()
        return made

    def write(self, done: LabelledBlock) -> None:
        """Append a block's rows, then the line that vouches for them."""
        self._part.write(b"".join(done.rows))
        self._part.flush()
        self._advance(done, self._part.tell())
        row = {**asdict(done), "rows": self.written}
        self._log.write(json.dumps(row).encode() + b"\n")
        self._log.flush()

    def finish(self) -> None:
        """Put the finished output in its place."""
        os.fsync(self._part.fileno())
        part, log = _beside(self._target)
        part.replace(self._target)
        log.unlink()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._part.close()
        self._log.close()

    def _go_on(self, known: list[bytes]) -> None:
        size = os.fstat(self._part.fileno()).st_size
        trusted = len(known[0])
        for text in known[1:]:
            row = json.loads(text)
            if row["rows"] > size:  # after a power cut the later file may have reached the disk first
                break
            problems = {name: [Problem(**each) for each in row[name]] for name in ("bad", "unparsed")}
            done = LabelledBlock(row["line"], row["end"], row["numbers"], row["ids"], [], **problems)
            self.past.append(done)
            self._advance(done, row["rows"])
            trusted += len(text)
        self._part.truncate(self.written)
        self._part.seek(self.written)
        self._log.truncate(trusted)
        self._log.seek(trusted)

    def _advance(self, done: LabelledBlock, written: int) -> None:
        self.line, self.read, self.written = done.line, done.end, written


def _beside(target: Path) -> tuple[Path, Path]:
    return target.with_name(target.name + ".part"), target.with_name(target.name + ".journal")


def _read_log(path: Path) -> list[bytes]:
    """Its whole lines."""
    if not path.exists():
        return []
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
