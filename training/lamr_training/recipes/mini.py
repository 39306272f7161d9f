"""The recipe of `lamr-mini`: MiniLM under a vocabulary of code, trained in rounds on one machine's CPU.

Each round begins with the weights that the one before left. The checkpoint has the mean of the rounds' weights and a
scoring that is fitted on whole files."""

import os
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from lamr_base.children import standing_elsewhere
from lamr_evaluation.records import Record, read_records
from lamr_postprocess import split_lines
from tokenizers import Tokenizer

from lamr_training.backbone import alias_line_ends, code_vocabulary, load_minilm, minilm_folder, start_mini
from lamr_training.errors import RunError
from lamr_training.fits.scoring import ScoringReport
from lamr_training.loop.examples import HARD_CHOICE, ExampleSet, distinct_files, make_examples
from lamr_training.loop.run_folder import STATE, TrainingSettings, read_checkpoint
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.recipes.recipe import Recipe, mean_weights, write_scored
from lamr_training.written import WRITTEN


@dataclass(frozen=True)
class Round:
    """One run of training; its schedule starts anew."""

    mixed: int  # how many made questions go beside the written ones; they follow those of the rounds before
    share: float = 1.0  # the share of the preset's steps that the round takes


@dataclass(frozen=True, kw_only=True)
class MiniSizes:
    """How much `lamr-mini` is made of."""

    vocabulary: int = 24_000  # how many entries the tokenizer has
    new_words: int = 3_000  # how many of these are words that MiniLM lacks
    files: int = 2_200  # how many files the vocabulary and the tokens' rarity are counted on
    window: int = 40  # how many lines make a document, for rarity
    layers: int = 6  # how many of MiniLM's layers the model has, counted from the bottom
    records: int = 12_000
    rounds: tuple[Round, ...] = (Round(800), Round(8_000, 0.8))  # the rounds of training
    checked: int = 60
    scored: int = 40


@dataclass(frozen=True, kw_only=True)
class MiniRecipe(Recipe):
    """MiniLM with new embeddings, heads and chains."""

    sizes: MiniSizes = field(default_factory=MiniSizes)  # how much the model is made of

    @property
    def runs(self) -> int:
        return len(self.sizes.rounds)

    def check(self) -> None:
        if self.base:
            raise RunError("this preset brings its own backbone; leave --base out")
        minilm_folder()

    def prepare(self, data: Path, work: WorkFolder) -> None:
        if work.is_prepared(self.runs):
            return
        records = list(read_records(data / "train.jsonl"))
        if not work.has_start():
            self._write_start(records, work)
        model, encoder = work.load_start()
        assert model.lexical is not None
        rarity = model.lexical.rarity.numpy()
        path = data / WRITTEN["train"]
        written = list(read_records(path)) if path.exists() else []
        for number in range(self.runs):
            if not work.examples(number).exists():
                made = self._made_questions(records, number, bool(written))
                examples = list(make_examples(made, encoder, rarity))
                base = 1 + max((example.group for example in examples), default=-1)
                more = make_examples(written, encoder, rarity, choice=HARD_CHOICE, seed=number)
                examples += [replace(example, group=base + example.group) for example in more]
                ExampleSet.of(examples).save(work.examples(number))
        checks = list(read_records(data / "validation.jsonl"))[: self.sizes.checked]
        ExampleSet.of(list(make_examples(checks, encoder, rarity, seed=1))).save(work.checks)

    def _write_start(self, records: Sequence[Record], work: WorkFolder) -> None:
        sizes = self.sizes
        files = distinct_files(records)
        random.Random(0).shuffle(files)
        files = files[: sizes.files]
        _, base = load_minilm()
        queries = [record.query for record in records[: 3 * sizes.files]]
        words = code_vocabulary(base, [*files, *queries], sizes.vocabulary, sizes.new_words)
        documents = [part for text in files for part in _windows(text, sizes.window)]
        encodings = words.tokenizer.encode_batch_fast(documents, add_special_tokens=False)
        model = start_mini(words, [encoding.ids for encoding in encodings], sizes.layers)
        work.write_start(model, words.tokenizer)

    def _made_questions(self, records: Sequence[Record], number: int, written: bool) -> list[Record]:
        """A round's made questions; they begin again at the first one where the records are used up."""
        counts = [each.mixed if written else self.sizes.records for each in self.sizes.rounds]
        first = sum(counts[:number])
        return list(islice(cycle(records), first, first + min(counts[number], len(records))))

    def fit(self, work: WorkFolder) -> None:
        for number in range(self.runs):
            if self.workers == 1:
                self.fit_round(work, number)
            else:
                self._fit_round_in_workers(work, number)

    def fit_round(self, work: WorkFolder, number: int) -> None:
        """Train one round in this process."""
        work.train(work.load_after(number), self.round_settings(number), number)

    def round_settings(self, number: int) -> TrainingSettings:
        """A round's settings: its own share of the steps, and its own order."""
        steps = max(1, round(self.sizes.rounds[number].share * self.settings.steps))
        return replace(self.settings, steps=steps, seed=self.settings.seed + number)

    def _fit_round_in_workers(self, work: WorkFolder, number: int) -> None:
        with tempfile.TemporaryDirectory() as meeting:
            told = (Path.cwd(), (self, work, number, meeting))
            with standing_elsewhere():
                processes.spawn(_fit_in_worker, told, nprocs=self.workers)  # type: ignore[attr-defined]
        # Workers that were told to stop, and not this process, have ended as if all were well.
        state = read_checkpoint(work.run(number) / STATE) or {"step": 0}
        if state["step"] < self.round_settings(number).steps:
            raise RunError(
                f"the workers were stopped at step {state['step']}; run the same command to continue"
            )

    def finish(self, data: Path, work: WorkFolder, out: Path) -> ScoringReport:
        """Write the mean of the rounds' weights, with a bias and a scoring that are fitted on whole files. The second
        round is better where its records are many and worse where they are few; the mean, between two ends of one path,
        is better than either (Wortsman et al. 2022, model soups)."""
        model = mean_weights([work.load_after(1 + number) for number in range(self.runs)])
        alias_line_ends(model, Tokenizer.from_file(str(work.tokenizer_file)))
        records = [
            *list(read_records(data / "validation.jsonl"))[-self.sizes.scored :],
            *read_records(data / WRITTEN["validation"]),
        ]
        return write_scored(model, work, out, records)


def _windows(text: str, count: int) -> list[str]:
    lines = split_lines(text)
    return ["".join(lines[start : start + count]) for start in range(0, len(lines), count)]


def _fit_in_worker(rank: int, folder: Path, told: tuple[MiniRecipe, WorkFolder, int, str]) -> None:
    os.chdir(folder)
    recipe, work, number, meeting = told
    torch.set_num_threads(1)
    store = dist.FileStore(str(Path(meeting) / "store"), recipe.workers)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=rank, world_size=recipe.workers)
    recipe.fit_round(work, number)
    dist.destroy_process_group()
