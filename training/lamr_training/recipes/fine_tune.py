"""Trains a mini model on: from a served repository or a checkpoint, on the records of a folder.

A repository doesn't tell what its backbone is, so only `lamr-mini`'s architecture can be turned back. What
`lamr_export.integer_graph` does to weights is undone by the parameter names in the graph; rounding isn't
undone."""

import re
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import onnx
import torch
from lamr_evaluation.records import read_records
from lamr_export.checkpoint import load_checkpoint
from lamr_export.config import CHECKPOINT_CONFIG
from lamr_export.errors import ExportError
from lamr_export.model import LamrModel
from lamr_model.names import DECODER, ENCODER, ONNX_FILE, TOKENIZER_FILE, WEIGHTS_FILE, version_folder
from lamr_model.spec import bundled_repository, client_files, load_spec
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, numpy_helper
from tokenizers import Tokenizer

from lamr_training.backbone import load_minilm, mini_config
from lamr_training.errors import RunError
from lamr_training.fits.scoring import ScoringReport
from lamr_training.loop.examples import HARD_CHOICE, ExampleSet, make_examples
from lamr_training.loop.work_folder import WorkFolder
from lamr_training.recipes.recipe import Recipe, mean_weights, write_scored


@dataclass(frozen=True, kw_only=True)
class FineTuneRecipe(Recipe):
    """A mini model that learns from more records: the mean of runs that all begin at the start."""

    count: int = 1  # how many runs there are; each has its own order, and its own choice of hard chunks
    kept: int = 0  # how often the start's own weights count in the mean
    checked: int = 50
    scored: int = 120  # how many validation records the bias and the scoring are fitted on, whole files each

    @property
    def runs(self) -> int:
        return self.count

    def check(self) -> None:
        if self.workers > 1:
            raise RunError("this preset trains in one process; leave --workers out")
        self._start()

    def prepare(self, data: Path, work: WorkFolder) -> None:
        if work.is_prepared(self.runs):
            return
        work.write_start(*self._start(), beside=self._tokenizer_file())
        model, encoder = work.load_start()
        if model.lexical is None:
            raise RunError(
                f"{self.base}: has no lexical features, so hard chunks can't be chosen; see `lamr-mini`"
            )
        rarity = model.lexical.rarity.numpy()
        records = list(read_records(data / "train.jsonl"))
        for run in range(self.runs):
            examples = make_examples(records, encoder, rarity, choice=HARD_CHOICE, seed=run)
            ExampleSet.of(list(examples)).save(work.examples(run))
        checks = islice(read_records(data / "validation.jsonl"), self.checked)
        ExampleSet.of(list(make_examples(checks, encoder, rarity, seed=1))).save(work.checks)

    def fit(self, work: WorkFolder) -> None:
        for run in range(self.runs):
            work.train(work.load_after(0), replace(self.settings, seed=self.settings.seed + run), run)

    def finish(self, data: Path, work: WorkFolder, out: Path) -> ScoringReport:
        """Write the mean of the runs' weights, with bias and scoring fitted on the last validation records."""
        ends = [work.load_after(1 + run) for run in range(self.runs)]
        model = mean_weights([*ends, *[work.load_after(0)] * self.kept])
        records = list(read_records(data / "validation.jsonl"))[-self.scored :]
        return write_scored(model, work, out, records)

    def _start(self) -> tuple[LamrModel, Tokenizer]:
        base = self.base or bundled_repository()
        if (base / CHECKPOINT_CONFIG).is_file():
            return load_checkpoint(base), Tokenizer.from_file(str(self._tokenizer_file()))
        return load_served(base)

    def _tokenizer_file(self) -> Path:
        base = self.base or bundled_repository()
        folder = base if (base / CHECKPOINT_CONFIG).is_file() else client_files(base)
        return folder / TOKENIZER_FILE


_UNREAD = "lexical.projection.weight"
"""Lexical features don't reach the input embeddings of a model that encodes query and code apart."""


def load_served(repository: Path) -> tuple[LamrModel, Tokenizer]:
    """The model of an int8 repository, with float weights, and its tokenizer. Rounding isn't undone: the model answers
    as the repository does, but for what rounding activations changes."""
    spec = load_spec(repository)
    tokenizer = Tokenizer.from_file(str(client_files(repository) / TOKENIZER_FILE))
    backbone, _ = load_minilm()
    sizes = {**backbone.config.to_dict(), "vocab_size": tokenizer.get_vocab_size()}
    config = replace(
        mini_config(tokenizer),
        version=spec.version,
        backbone={name: sizes[name] for name in _ARCHITECTURE},
        prompt=spec.prompt,
        chunking=spec.chunking,
        scoring=spec.scoring,
        threshold=spec.threshold,
    )
    model = LamrModel(config)
    try:
        encoder = float_weights(onnx.load(version_folder(repository, ENCODER) / ONNX_FILE))
        heads = np.load(version_folder(repository, DECODER) / WEIGHTS_FILE, allow_pickle=False)
        _fill(model, {**encoder, **{f"heads.{name}": heads[name] for name in heads}})
    except ExportError as error:
        raise RunError(
            f"{repository}: can't be trained on ({error}); name an int8 repository of lamr-mini's architecture, or a "
            "checkpoint's folder"
        ) from error
    return model.eval(), tokenizer


_FIELDS = """
    model_type hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_act max_position_embeddings
    type_vocab_size layer_norm_eps hidden_dropout_prob attention_probs_dropout_prob pad_token_id vocab_size
    """
_ARCHITECTURE = tuple(_FIELDS.split())


def _fill(model: LamrModel, weights: dict[str, NDArray[np.float32]]) -> None:
    own = model.state_dict()
    weights.setdefault(_UNREAD, np.zeros(own[_UNREAD].shape, np.float32))
    for name in sorted(own.keys() | weights.keys()):
        if name not in own or name not in weights:
            raise ExportError(f"{name} is {'missing' if name in own else 'unknown'}")
        if weights[name].shape != own[name].shape:
            raise ExportError(f"{name} has shape {weights[name].shape}, not {tuple(own[name].shape)}")
    model.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})


FloatArray = NDArray[np.float32]

_MODEL = "model."  # What the exporter puts before a parameter's name
_LEVELS = "/q"


def float_weights(encoder: ModelProto) -> dict[str, FloatArray]:
    """Every parameter of an int8 encoder by its name in the model, in the parameter's own shape."""
    graph = encoder.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {
        name.removeprefix(_MODEL): value.astype(np.float32)
        for name, value in constants.items()
        if name.startswith(_MODEL) and "/" not in name
    }
    levels = [name.removesuffix(_LEVELS) for name in constants if name.endswith(_LEVELS)]
    if not levels:
        raise ExportError("the encoder has no int8 weights; only an int8 repository can be turned back")
    products = {node.input[1].removesuffix(_LEVELS): node for node in graph.node if len(node.input) > 1}
    tables = {node.input[0].removesuffix(_LEVELS) for node in graph.node if node.op_type == "Gather"}
    for name in levels:
        values = _matrix(name, constants, products)
        # A product holds its matrix as `[in, out]`, the transpose of `nn.Linear`'s.
        weights[_parameter(name, products)] = values if name in tables else np.ascontiguousarray(values.T)
    for name, value in constants.items():
        if name.endswith("/half"):
            weights[name.removeprefix(_MODEL).removesuffix("/half")] = value.astype(np.float32)
    return weights


def _parameter(name: str, products: dict[str, NodeProto]) -> str:
    if name.startswith(_MODEL):
        return name.removeprefix(_MODEL)
    node = products.get(name)
    biases = [] if node is None else [each for each in node.input if re.fullmatch(r"model\..*\.bias", each)]
    if len(biases) != 1:
        raise ExportError(f"the encoder's weight {name} has no name; export the model again")
    return biases[0].removeprefix(_MODEL).removesuffix("bias") + "weight"


def _matrix(
    name: str, constants: dict[str, NDArray[np.generic]], products: dict[str, NodeProto]
) -> FloatArray:
    scale = constants[f"{name}/scale"].astype(np.float32)
    values: FloatArray = constants[name + _LEVELS].astype(np.float32) * scale
    node = products.get(name)
    read = None if node is None else node.input[0].removesuffix(_LEVELS)
    if f"{read}/inverse" in constants:
        values *= constants[f"{read}/inverse"].astype(np.float32)[:, None]
    if f"{name}/loud" in constants:
        values[constants[f"{read}/loud"].astype(np.int64)] = constants[f"{name}/loud"]
    return values
