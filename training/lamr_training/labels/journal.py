"""The unfinished output of a labelling run, and how much of it may be trusted after an interruption.

The part file has the labelled rows, and each line of the journal vouches for one portion of them; it is written after
these rows. When a run goes on, rows that no whole line vouches for are cut off. This module knows the two files; it
knows no labels.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from lamr_evaluation.problems import Problem

from lamr_training.labels.portions import LabelledPortion


class Journal:
    """An output file in the making.

    Attributes:
        line, read: how many lines and bytes of the input are done.
        written: how many bytes of output belong to them.
        past: the portions that earlier runs have labelled, without their rows.
    """

    def __init__(self, target: Path, part: BinaryIO, log: BinaryIO) -> None:
        self._target, self._part, self._log = target, part, log
        self.line = self.read = self.written = 0
        self.past: list[LabelledPortion] = []

    @classmethod
    def open(cls, source: Path, target: Path, settings: Mapping[str, Any]) -> Journal:
        """Go on with the journal of an interrupted run if that had the same input and settings; otherwise begin one.

        Args:
            source: the input file.
            target: the output file; part file and journal lie beside it.
            settings: everything else that the output depends on.
        """
        stat = source.stat()
        head = json.dumps(
            {"size": stat.st_size, "changed": stat.st_mtime_ns, "settings": settings}, sort_keys=True
        )
        part, log = _beside(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        known = _read_log(log)
        if part.exists() and known[:1] == [head.encode() + b"\n"]:
            journal = cls(target, part.open("r+b"), log.open("r+b"))
            journal._go_on(known)
            return journal
        journal = cls(target, part.open("wb"), log.open("wb"))
        journal._log.write(head.encode() + b"\n")
        journal._log.flush()
        return journal

    def write(self, portion: LabelledPortion) -> None:
        """Append a portion's rows, then the line that vouches for them."""
        self._part.write(b"".join(portion.rows))
        self._part.flush()
        self._advance(portion, self._part.tell())
        row = {**asdict(portion), "rows": self.written}
        self._log.write(json.dumps(row).encode() + b"\n")
        self._log.flush()

    def finish(self) -> None:
        """Put the finished output in its place, and remove the journal."""
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
            portion = LabelledPortion(row["line"], row["end"], row["numbers"], row["ids"], [], **problems)
            self.past.append(portion)
            self._advance(portion, row["rows"])
            trusted += len(text)
        self._part.truncate(self.written)
        self._part.seek(self.written)
        self._log.truncate(trusted)
        self._log.seek(trusted)

    def _advance(self, portion: LabelledPortion, written: int) -> None:
        self.line, self.read, self.written = portion.line, portion.end, written


def _beside(target: Path) -> tuple[Path, Path]:
    """The part file and the journal of a target."""
    return target.with_name(target.name + ".part"), target.with_name(target.name + ".journal")


def _read_log(path: Path) -> list[bytes]:
    """The whole lines of a journal; none if it doesn't exist."""
    if not path.exists():
        return []
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
