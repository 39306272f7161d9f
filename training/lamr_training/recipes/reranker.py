"""Starts LaMR from a bare reranker's folder, as the paper does from Qwen3-Reranker-0.6B (section 4.1, Table 5).

The backbone, its tokenizer and its prompt stay as they are; fusion, heads and chains are new. Examples are whole
documents where these fit a chunk. This module makes the files that training starts from; it trains nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from lamr_contract.encoding import PromptEncoder
from lamr_evaluation.records import Record, read_records
from lamr_export import swepruner
from lamr_export.checkpoint import save_checkpoint
from lamr_export.config import LamrConfig, paper_fusion_layers
from lamr_export.errors import CheckpointError
from lamr_export.model import LamrModel
from tokenizers import Tokenizer

from lamr_training.errors import RunError
from lamr_training.loop.examples import ExampleSet, make_examples
from lamr_training.model.backbone import rarity

START, EXAMPLES, CHECKS = "start", "made.npz", "validation.npz"
_COUNTED = 2_000  # documents that the rarity of tokens is counted on


def backbone_layers(folder: Path) -> int:
    """Layers of a Hugging Face model's folder.

    Raises:
        RunError: there is none.
    """
    try:
        return int(json.loads((folder / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"])
    except OSError as error:
        raise RunError(f"{folder}: no backbone's folder ({error.strerror} for its config.json)") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{folder / 'config.json'}: doesn't say num_hidden_layers ({error})") from error


def load_tokenizer(folder: Path) -> Tokenizer:
    """A backbone's tokenizer, with offsets.

    Raises:
        RunError: there is none that gives offsets.
    """
    path = folder / "tokenizer.json"
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


def start_reranker(folder: Path, tokenizer: Tokenizer, rubrics: Sequence[str]) -> LamrModel:
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
        chunking=swepruner.CHUNKING,
        fusion_layers=paper_fusion_layers(backbone_layers(folder)),
        rubrics=tuple(rubrics),
        dropout=0.4,
        relevance="yes_no",
        yes_token_id=yes,
        no_token_id=no,
    )
    try:
        return LamrModel.from_backbone(folder, config)
    except CheckpointError as error:
        raise RunError(str(error)) from error


def prepare_reranker(folder: Path, data: Path, work: Path, records: int | None, checked: int | None) -> None:
    """Write the start checkpoint and the examples into `work`; `records` and `checked` bound how many are used."""
    tokenizer = load_tokenizer(folder)
    model = start_reranker(folder, tokenizer, ("semantic", "dependency"))
    work.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(work / "tokenizer.json"))
    save_checkpoint(model, work / START, work / "tokenizer.json")
    encoder = PromptEncoder(tokenizer, model.config.spec(""))
    train = _first(read_records(data / "train.jsonl"), records)
    counted = [tokenizer.encode(r.code, add_special_tokens=False).ids for r in train[:_COUNTED]]
    weights = rarity(tokenizer, counted).numpy()
    ExampleSet.of(list(make_examples(train, encoder, weights))).save(work / EXAMPLES)
    checks = _first(read_records(data / "validation.jsonl"), checked)
    ExampleSet.of(list(make_examples(checks, encoder, weights, seed=1))).save(work / CHECKS)


def _first(records: Iterator[Record], count: int | None) -> list[Record]:
    return [record for _, record in zip(range(count), records, strict=False)] if count else list(records)
