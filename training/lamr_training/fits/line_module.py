"""`LineModule`: `lamr_model`'s `LineModel` as it is trained, with the same parameters under the same names.

A file is read at a time, as clients read it; nothing is padded. Inputs are standardized while training, and what that
changes is folded into the weights that are served. The module knows weights and numbers; it knows no text and no
loss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from lamr_export.model import RubricHeads
from lamr_model.crf import DecoderWeights
from lamr_model.rules import DEPENDENCY, SEMANTIC
from lamr_model.scoring.line_inputs import IN_FILE
from lamr_model.scoring.line_layers import RELATIONS, Layer, LineLayers
from lamr_model.scoring.line_model import LEAST_WEIGHT, MOST_WEIGHT, LineModel, input_count
from lamr_model.scoring.line_vectors import (
    LEAST_MATCH,
    MOST_VECTORS,
    NEAR,
    QUERY_POWER,
    VIEWS,
    WordMatching,
    WordTable,
)
from lamr_model.scoring.query_words import FEATURES
from lamr_model.scoring.weights import word_table
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from lamr_training.fits.line_examples import LineExample, by_block, lexical, nearby, scaled
from lamr_training.loop.losses import marginal_log_odds, plain_form

_RUBRICS = (SEMANTIC, DEPENDENCY)
_SHARPNESS = 3.0  # of matches at first
LEAST_SPREAD = 0.05  # An input that hardly ever changes mustn't weigh much where it does


@dataclass(frozen=True, kw_only=True)
class LineSizes:
    """The sizes of a line model."""

    words: int = 64  # d, the numbers of a word's vector
    weighing: int = 24  # the numbers that the weights of a query's word are computed from
    states: int = 64  # W, the numbers of a line's state
    beside: int = 8  # P, what stands beside them at the end
    hidden: int = 32  # the hidden size of the heads
    reach: int = 2
    strides: tuple[int, ...] = (1, 3)

    @classmethod
    def of(cls, model: LineModel) -> LineSizes:
        layers = model.layers
        return cls(
            words=model.line.vectors.shape[1],
            weighing=len(model.matching.hidden_bias),
            states=len(layers.bias),
            beside=len(layers.last_bias),
            hidden=len(model.decoder.hidden_bias),
            reach=len(layers.layers[0].own) // 2,
            strides=tuple(layer.stride for layer in layers.layers),
        )


class LineOutput(NamedTuple):
    """What is said of I lines: `logits [I]`, the log-odds of the fused chain's marginals; `rubrics [I, 2]`, likewise
    those of each rubric's emissions, without its chain."""

    logits: Tensor
    rubrics: Tensor


class LineModule(nn.Module):
    """The module; see `LineModel` and its parts for what each parameter is."""

    mean: Tensor
    spread: Tensor

    def __init__(self, words: Sequence[str], vectors: Tensor, sizes: LineSizes, dropout: float = 0.1) -> None:
        """Begin with vectors of words, and with random weights. Shapes: `vectors` float32 `[V, d]`."""
        super().__init__()
        self.words, self.sizes, self.dropout = tuple(words), sizes, dropout
        d, width, inputs = sizes.words, sizes.states, input_count(sizes.words)
        self.tables = nn.ParameterDict(
            {
                "query": vectors.clone(),
                "line": vectors.clone(),
                "query_alone": torch.zeros(len(words), 1),
                "line_alone": torch.zeros(len(words), 1),
            }
        )
        self.matching = nn.ParameterDict(
            {
                "hidden": _random(len(FEATURES) + len(IN_FILE), sizes.weighing),
                "hidden_bias": torch.zeros(sizes.weighing),
                "out": torch.zeros(sizes.weighing, 3),
                "out_bias": torch.zeros(3),
                "views": torch.eye(d).repeat(VIEWS, 1, 1),
                "key": torch.eye(d) * (_SHARPNESS / math.sqrt(d)),
                "block_prior": torch.zeros(d),
            }
        )
        self.around = nn.ParameterDict(
            {
                "first": _random(inputs, width),
                "bias": torch.zeros(width),
                "last": _random(width + inputs, sizes.beside),
                "last_bias": torch.zeros(sizes.beside),
            }
        )
        taps = 2 * sizes.reach + 1
        self.layers = nn.ModuleList(
            nn.ParameterDict(
                {
                    **{name: _random(taps, width, width, parts=3 * taps) for name in _NEIGHBOURS},
                    "told": _random(width, RELATIONS * width, parts=RELATIONS),
                    "bias": torch.zeros(width),
                }
            )
            for _ in sizes.strides
        )
        self.heads = RubricHeads(width + sizes.beside, sizes.hidden, len(_RUBRICS), dropout=0.0)
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("spread", torch.ones(inputs))

    @classmethod
    def of(cls, model: LineModel, dropout: float = 0.1) -> LineModule:
        """Begin with a model's weights."""
        module = cls(model.words, torch.from_numpy(_vectors(model.query)), LineSizes.of(model), dropout)
        tables = {"query": _vectors(model.query), "line": _vectors(model.line)}
        tables |= {"query_alone": model.query.alone[:, None], "line_alone": model.line.alone[:, None]}
        for parameters, values in (
            (module.tables, tables),
            (module.matching, vars(model.matching)),
            (module.around, vars(model.layers)),
            *zip(module.layers, map(vars, model.layers.layers), strict=True),
            (module.heads.state_dict(keep_vars=True), _dotted(model.decoder, module.heads)),
        ):
            _fill(parameters, values)
        return module

    @torch.no_grad()
    def standardize(self, examples: Iterable[LineExample]) -> None:
        """Measure how inputs are spread, and let training see them standardized; what the module says stays."""
        inputs = torch.cat([self.inputs(example) for example in examples])
        mean, spread = inputs.mean(dim=0), inputs.std(dim=0, correction=0) + LEAST_SPREAD
        first, bias, last, last_bias = self._unstandardized()
        width = self.sizes.states
        _fill(
            self.around,
            {
                "first": first * spread[:, None],
                "bias": bias + mean @ first,
                "last": torch.cat([last[:width], last[width:] * spread[:, None]]),
                "last_bias": last_bias + mean @ last[width:],
            },
        )
        self.mean, self.spread = mean, spread

    def forward(self, example: LineExample) -> LineOutput:
        """Score a file's lines."""
        heads = self.heads(self.states(self.inputs(example), example))
        bounds = torch.tensor([0, len(heads.emissions)])
        chain = plain_form(heads.fused_emissions, bounds, self.heads.fused_crf_tensors())
        rubrics = heads.emissions[..., 1] - heads.emissions[..., 0]
        return LineOutput(marginal_log_odds(*chain).float(), rubrics)

    def inputs(self, example: LineExample) -> Tensor:
        """The inputs `[I, N]` of lines, as `LineModel` has them."""
        matching, matches = self.matching, example.matches
        known = torch.from_numpy(matches.features)
        hidden = F.relu(known @ matching["hidden"] + matching["hidden_bias"])
        weights = hidden @ matching["out"] + matching["out_bias"]
        exact, _, shares = weights.clamp(LEAST_WEIGHT, MOST_WEIGHT).exp().unbind(dim=1)
        by_words = lexical(example, exact * torch.from_numpy(matches.rarity).float())
        by_vectors = self._by_vectors(example, weights[:, 1], shares)
        forms, evidence = torch.from_numpy(example.forms), torch.from_numpy(example.evidence)
        return torch.cat([by_vectors, forms, by_words, evidence], dim=1)

    def states(self, inputs: Tensor, example: LineExample) -> Tensor:
        """The fused states `[I, W + P]`, as `LineLayers` has them."""
        values, around = (inputs - self.mean) / self.spread, self.around
        states = F.relu(values @ around["first"] + around["bias"])
        for layer, stride in zip(self.layers, self.sizes.strides, strict=True):
            told = F.relu(self._layer(layer, stride, states, example))
            states = F.dropout(states + told, self.dropout, self.training)
        beside = torch.cat([states, values], dim=1) @ around["last"] + around["last_bias"]
        return torch.cat([states, beside], dim=1)

    @torch.no_grad()
    def model(self) -> LineModel:
        """What was learned, as it is served; vectors are rounded to int8."""
        first, bias, last, last_bias = self._unstandardized()
        given = {name: _array(value) for name, value in self.around.items()}
        given |= {"first": _array(first), "bias": _array(bias)}
        given |= {"last": _array(last), "last_bias": _array(last_bias)}
        tables = {name: _array(value) for name, value in self.tables.items()}
        decoder = {name.replace(".", "_"): _array(value) for name, value in self.heads.arrays().items()}
        return LineModel(
            self.words,
            word_table(tables["query"], tables["query_alone"][:, 0]),
            word_table(tables["line"], tables["line_alone"][:, 0]),
            WordMatching(**{name: _array(value) for name, value in self.matching.items()}),
            LineLayers(
                layers=tuple(
                    Layer(
                        stride,
                        **{name: _array(value) for name, value in cast(nn.ParameterDict, layer).items()},
                    )
                    for layer, stride in zip(self.layers, self.sizes.strides, strict=True)
                ),
                **given,
            ),
            DecoderWeights(**decoder),
        )

    def _by_vectors(self, example: LineExample, importance: Tensor, shares: Tensor) -> Tensor:
        """What vectors of words say of lines, `[I, 7 + 2 d]`."""
        tables, matching = self.tables, self.matching
        own, near, block, prior = self._views(example)
        chosen = self._weighed(example.query, importance)
        numbers = torch.from_numpy(example.query)[chosen]
        vectors, shares = F.embedding(numbers, tables["query"], sparse=True), shares[chosen]
        worth = F.embedding(numbers, tables["query_alone"], sparse=True)[:, 0] + importance[chosen]
        asked = shares @ vectors / shares.sum().clamp(min=1e-3) ** QUERY_POWER
        views = (own, near, block)
        products = [view * (matrix @ asked) for view, matrix in zip(views, matching["views"], strict=True)]
        keys = vectors @ matching["key"].T
        matches = [view @ keys.T + worth for view in views]
        columns = (
            *(product.sum(dim=1, keepdim=True) for product in products),
            prior + (block @ matching["block_prior"])[:, None],
            *(match.logsumexp(dim=1, keepdim=True).clamp(min=LEAST_MATCH) for match in matches),
            products[1],
            own,
        )
        return torch.cat(columns, dim=1)

    def _weighed(self, query: NDArray[np.int64], importance: Tensor) -> Tensor:
        chosen = torch.from_numpy(np.flatnonzero(query >= 0))
        if len(chosen) > MOST_VECTORS:
            alone = self.tables["query_alone"].detach()[torch.from_numpy(query)[chosen], 0]
            worth = importance.detach()[chosen] + alone
            chosen = chosen[worth.argsort(descending=True, stable=True)[:MOST_VECTORS]].sort().values
        return chosen

    def _views(self, example: LineExample) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The vectors `[I, d]` of each view, and the prior `[I, 1]`."""
        numbers, sizes = torch.from_numpy(example.words), torch.from_numpy(example.sizes)
        line = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        counts, blocks = sizes.float()[:, None], torch.from_numpy(example.positions.blocks)

        def summed(name: str) -> Tensor:
            held = F.embedding(numbers, self.tables[name], sparse=True)
            return held.new_zeros(len(sizes), held.shape[1]).index_add(0, line, held)

        sums = summed("line")
        own = scaled(sums, counts)
        near = scaled(nearby(sums, NEAR), nearby(counts, NEAR))
        block = scaled(by_block(sums, blocks), by_block(counts, blocks))[blocks]
        return own, near, block, scaled(summed("line_alone"), counts)

    def _layer(self, layer: Any, stride: int, states: Tensor, example: LineExample) -> Tensor:
        """What a layer adds to states `[I, W]`, before its relu."""
        reach, taps = self.sizes.reach, 2 * self.sizes.reach + 1
        own = layer["own"].permute(2, 1, 0)
        sums = F.conv1d(states.T[None], own, layer["bias"], padding=stride * reach, dilation=stride)[0].T
        blocks = torch.from_numpy(example.positions.blocks)
        of_block = by_block(states, blocks) / torch.bincount(blocks)[:, None]
        shared = torch.einsum("bi,tio->bto", of_block, layer["block"]) + states.mean(dim=0) @ layer["file"]
        tap = torch.arange(taps)
        place = torch.arange(len(states))[:, None] + (tap - reach) * stride
        inside = (place >= 0) & (place < len(states))
        number = torch.where(
            inside, blocks[place.clamp(0, len(states) - 1)] * taps + tap, len(of_block) * taps
        )
        sums = sums + F.embedding_bag(number, F.pad(shared.flatten(0, 1), (0, 0, 0, 1)), mode="sum")
        relations = example.relations
        parts = (states @ layer["told"]).chunk(RELATIONS, dim=1)
        for part, source, target, start in zip(
            parts, relations.sources, relations.targets, relations.starts, strict=True
        ):
            counts = np.diff(np.append(start, len(source)))
            shares = torch.from_numpy(np.repeat(1 / counts, counts).astype(np.float32))
            targets = torch.from_numpy(np.repeat(target, counts))
            sums = sums.index_add(0, targets, part[torch.from_numpy(source)] * shares[:, None])
        return sums

    def _unstandardized(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        around, width = self.around, self.sizes.states
        first = around["first"] / self.spread[:, None]
        beside = around["last"][width:] / self.spread[:, None]
        last = torch.cat([around["last"][:width], beside])
        return first, around["bias"] - self.mean @ first, last, around["last_bias"] - self.mean @ beside


_NEIGHBOURS = ("own", "block", "file")


def _random(*shape: int, parts: int = 1) -> Tensor:
    most = 1 / math.sqrt(shape[-2] * parts)
    return torch.empty(shape).uniform_(-most, most)


def _vectors(table: WordTable) -> NDArray[np.float32]:
    return table[np.arange(len(table.alone))]


def _dotted(weights: DecoderWeights, heads: RubricHeads) -> dict[str, Any]:
    return {name: getattr(weights, name.replace(".", "_")) for name in heads.state_dict()}


@torch.no_grad()
def _fill(parameters: Any, values: dict[str, Any]) -> None:
    for name, parameter in parameters.items():
        if name in values:
            parameter.copy_(torch.as_tensor(np.asarray(values[name])))


def _array(values: Tensor) -> NDArray[np.float32]:
    return values.detach().numpy().astype(np.float32)
