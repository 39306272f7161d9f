"""The presets of `lamr train`: a table from a name to a recipe with its sizes and settings."""

from __future__ import annotations

from dataclasses import replace

from lamr_training.loop.losses import LossWeights
from lamr_training.loop.settings import TrainingSettings
from lamr_training.recipes.fine_tune import FineTuneRecipe
from lamr_training.recipes.mini import MiniRecipe, MiniSizes, Round
from lamr_training.recipes.recipe import Recipe
from lamr_training.recipes.reranker import RerankerRecipe

RERANKER = "qwen3-reranker-0.6b"

# Batches hold the chunks of some ten files. Ranks are what a pruner needs, so they weigh most. A backbone that learns
# fast forgets what sentences mean: at a rate of 1.5e-4 it lost more than all questions taught it.
_MINI = TrainingSettings(
    steps=2800,
    tokens=4096,
    bf16=True,
    learning_rate=3e-5,
    head_rate=8e-4,
    lexical_rate=2e-3,
    warmup=0.06,
    decay=0.5,
    average=0.99,
    validate_every=400,
    loss=LossWeights(relevance=0.2, listwise=1.0, ranking=2.0, balance=0.1),
)

PRESETS: dict[str, Recipe] = {
    "lamr-mini": MiniRecipe(settings=_MINI),
    # The shipped model learns more of what it is used for. Head rates are a fraction of those that it was made with.
    # Records of tasks have from one to hundreds of gold lines, so files count the same, and chains count more.
    "fine-tune": FineTuneRecipe(
        settings=replace(
            _MINI,
            steps=1000,
            head_rate=3e-4,
            lexical_rate=5e-4,
            warmup=0.04,
            decay=0.8,
            validate_every=200,
            loss=replace(_MINI.loss, even=True, chains=10.0),
        )
    ),
    # The paper's Table 5: the top 2 of 28 layers, batches of 16 on each of 8 GPUs, 3 epochs of 61K records. The paper
    # names no learning rate; this one is ours.
    RERANKER: RerankerRecipe(
        settings=TrainingSettings(
            steps=1430,
            tokens=16 * 2304,
            accumulate=8,
            learning_rate=5e-5,
            head_rate=5e-4,
            bf16=True,
            frozen_layers=26,
            frozen_embeddings=True,
            patience=3,
        )
    ),
    # A quick check that everything is installed and the records are fit to train on.
    "tiny": MiniRecipe(
        settings=TrainingSettings(steps=20, tokens=512, validate_every=10, checkpoint_every=10, log_every=1),
        sizes=MiniSizes(
            vocabulary=3_000, new_words=100, files=40, records=60, rounds=(Round(20),), checked=10, scored=5
        ),
    ),
}
