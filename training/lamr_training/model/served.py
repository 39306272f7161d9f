"""Starts from a model that is served: an int8 repository's weights as something to train on.

A repository doesn't tell what its backbone is, so only `lamr-mini`'s architecture can be turned back.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import torch
from lamr_contract.names import DECODER, ENCODER, ONNX_FILE, TOKENIZER_FILE, WEIGHTS_FILE, version_folder
from lamr_contract.spec import client_files, load_spec
from lamr_export.errors import ExportError
from lamr_export.float_weights import float_weights
from lamr_export.model import LamrModel
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_training.errors import RunError
from lamr_training.model.backbone import load_minilm, mini_config

_UNREAD = "lexical.projection.weight"
"""Lexical features don't reach the input embeddings of a model that encodes query and code apart."""


def load_served(repository: Path) -> tuple[LamrModel, Tokenizer]:
    """The model of an int8 repository, with float weights, and its tokenizer.

    Rounding isn't undone: the model answers as the repository does, but for what rounding activations changes.

    Raises:
        RunError: the repository isn't of lamr-mini's architecture, or isn't int8.
        ModelMismatchError: the repository isn't complete.
    """
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
    """Give a model the weights, all of them.

    Raises:
        ExportError: one is missing, unknown or of another shape; the message names the first.
    """
    own = model.state_dict()
    weights.setdefault(_UNREAD, np.zeros(own[_UNREAD].shape, np.float32))
    for name in sorted(own.keys() | weights.keys()):
        if name not in own or name not in weights:
            raise ExportError(f"{name} is {'missing' if name in own else 'unknown'}")
        if weights[name].shape != own[name].shape:
            raise ExportError(f"{name} has shape {weights[name].shape}, not {tuple(own[name].shape)}")
    model.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
