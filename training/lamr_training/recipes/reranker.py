"""Starts LaMR from a bare reranker's folder, as the paper does from Qwen3-Reranker-0.6B (section 4.1, Table 5).

The backbone, its tokenizer and its prompt stay as they are; fusion, heads and chains are new. Examples are whole
documents where these fit a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from lamr_evaluation.records import read_records
from lamr_export import swepruner
from lamr_export.checkpoint import save_checkpoint
from lamr_export.config import LamrConfig, paper_fusion_layers
from lamr_export.errors import CheckpointError
from lamr_export.model import LamrModel
from lamr_model.names import TOKENIZER_FILE
from tokenizers import Tokenizer

from lamr_training.errors import RunError
from lamr_training.loop.devices import current_process
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.examples import make_examples
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.model.backbone import backbone_layers
from lamr_training.model.vocabulary import rarity
from lamr_training.recipes.recipe import Recipe

# SWE-Pruner's window, but chunks of a quarter of it, cut at lines: full ones would take gigabytes of attention scores.
CHUNKING = replace(swepruner.CHUNKING, tokens=2048, overlap=50, cut="lines")
COUNTED = 2_000
"""How many documents the rarity of tokens is counted on."""
CHECKED = 200
"""How many validation records are chunked for the figures that are logged while training."""


@dataclass(frozen=True, kw_only=True)
class RerankerRecipe(Recipe):
    """A reranker whose top layers learn together with new fusion, heads and chains, on one or several GPUs."""

    def check(self) -> None:
        """Refuse a missing backbone, and processes that the recipe would have to start itself."""
        if self.base is None:
            raise RunError("this preset needs --base, the folder of Qwen3-Reranker-0.6B as it was published")
        if self.workers > 1:
            raise RunError(
                "this preset starts no processes itself; use `accelerate launch`, one process a GPU, instead of "
                "--workers"
            )
        backbone_layers(self.base)

    def prepare(self, data: Path, work: WorkFolder) -> None:
        """Write the start checkpoint, the examples and the checks, if any of them is missing."""
        if work.is_prepared():
            return
        assert self.base is not None
        tokenizer = load_tokenizer(self.base)
        work.write_start(start_reranker(self.base, tokenizer), tokenizer)
        _, encoder = work.load_start()
        records = list(read_records(data / "train.jsonl"))
        documents = [tokenizer.encode(each.code, add_special_tokens=False).ids for each in records[:COUNTED]]
        weights = rarity(tokenizer, documents).numpy()
        ExampleSet.of(list(make_examples(records, encoder, weights))).save(work.examples())
        checks = islice(read_records(data / "validation.jsonl"), CHECKED)
        ExampleSet.of(list(make_examples(checks, encoder, weights, seed=1))).save(work.checks)

    def fit(self, work: WorkFolder) -> None:
        """Train, together with the other launched processes if there are any.

        The settings accumulate to the paper's batch of eight GPUs; each process takes its share of it.
        """
        accumulate = max(1, self.settings.accumulate // current_process().world)
        work.train(work.load_after(0), replace(self.settings, accumulate=accumulate))

    def finish(self, data: Path, work: WorkFolder, out: Path) -> None:  # noqa: ARG002 - no scoring is fitted
        """Write the trained weights; the scoring stays the paper's."""
        save_checkpoint(work.load_after(1), out, work.tokenizer_file)


def load_tokenizer(folder: Path) -> Tokenizer:
    """A backbone's tokenizer, with offsets.

    Raises:
        RunError: there is none that gives offsets.
    """
    path = folder / TOKENIZER_FILE
    if not path.is_file():
        raise RunError(
            f"{folder}: there is no tokenizer.json, and only such a tokenizer gives the characters of each token; "
            f'transformers writes one: AutoTokenizer.from_pretrained("{folder}", use_fast=True).save_pretrained(…)'
        )
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare exceptions
        raise RunError(f"{path}: not a tokenizer ({error})") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def start_reranker(folder: Path, tokenizer: Tokenizer) -> LamrModel:
    """The reranker with new heads.

    Raises:
        RunError: the folder isn't a reranker that answers yes or no.
    """
    yes, no = tokenizer.token_to_id("yes"), tokenizer.token_to_id("no")
    if yes is None or no is None:
        raise RunError(
            f"{folder}: its tokenizer has no tokens `yes` and `no`; name a reranker that answers so"
        )
    config = LamrConfig(
        name="lamr",
        version="1",
        backbone={},
        prompt=swepruner.PROMPT,
        chunking=CHUNKING,
        fusion_layers=paper_fusion_layers(backbone_layers(folder)),
        dropout=0.4,
        relevance="yes_no",
        yes_token_id=yes,
        no_token_id=no,
    )
    try:
        return LamrModel.from_backbone(folder, config)
    except CheckpointError as error:
        raise RunError(str(error)) from error
