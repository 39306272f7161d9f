"""Log-probabilities of packed batches are those of each sequence under the model's own code, for any architecture."""

import pytest
import torch
from lamr_base.errors import InvalidInputError
from lamr_export import causal_model as module
from lamr_export.causal_model import SLICE, CausalModel
from lamr_export.errors import CheckpointError
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    MistralConfig,
    Qwen2Config,
)

SIZES = {
    "vocab_size": 150,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
KINDS = {
    "qwen2": (lambda: Qwen2Config(**SIZES), True, 128),
    "gpt2": (lambda: GPT2Config(vocab_size=150, n_embd=32, n_layer=2, n_head=4, n_positions=64), True, 64),
    "mistral": (lambda: MistralConfig(**SIZES, sliding_window=32), True, 32),
    "gemma3_text": (
        lambda: Gemma3TextConfig(
            **SIZES, head_dim=8, sliding_window=16, layer_types=["sliding_attention", "full_attention"]
        ),
        True,
        16,
    ),
    "bloom": (lambda: BloomConfig(vocab_size=150, hidden_size=32, n_layer=2, n_head=4), False, 32_768),
}
LENGTHS = [7, 1, 23, 12]


def made(config):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_score_as_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 64)  # three slices of the vocabulary, the last one shorter
    config, packed, window = KINDS[kind]
    plain = made(config())
    lengths = [min(length, window) for length in LENGTHS]
    ids = torch.randint(150, (sum(lengths),))
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    expected = []
    with torch.no_grad():
        for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            scores = plain(ids[None, a:b]).logits[0].log_softmax(dim=-1)
            expected += [torch.zeros(1), scores[:-1].gather(1, ids[a + 1 : b, None])[:, 0]]
        model = CausalModel(plain)
        found = model(ids, bounds.to(torch.int32), torch.zeros(max(lengths)))
    torch.testing.assert_close(found, torch.cat(expected), atol=1e-4, rtol=1e-4)
    assert (model.packed, model.max_tokens) == (packed, window)
    assert SLICE > 64


def test_a_head_that_changes_its_scores_and_a_folder_without_a_model_are_refused(tmp_path) -> None:
    capped = Gemma2Config(**SIZES, head_dim=8, final_logit_softcapping=0.5)
    with pytest.raises(CheckpointError, match="gemma2"):
        CausalModel(made(capped))
    with pytest.raises(CheckpointError, match="not a causal language model"):
        CausalModel.load(tmp_path)


def test_what_the_model_cannot_take_is_refused() -> None:
    from lamr_model.perplexity.causal_scorer import check_sequences

    for ids, message in (([], "0 tokens"), ([1] * 9, "9 tokens"), ([12], "vocabulary"), ([-1], "vocabulary")):
        with pytest.raises(InvalidInputError, match=message):
            check_sequences([torch.tensor(ids, dtype=torch.int64).numpy()], 8, 12)
