"""What the export says about scores, chunks and the memory that they take."""

import dataclasses

import pytest
from lamr_export.config import attention_bytes, served_config, serving_terms
from lamr_model.spec import Chunking

from .models import qwen3

CONFIG = qwen3().config
LONG = dataclasses.replace(CONFIG, chunking=Chunking(8192, 8192, 49, cut="tokens"))


def test_a_full_windows_memory_is_told():
    assert serving_terms(LONG).endswith("; a full chunk takes 5 GB on a CPU, and less with --chunk-tokens")
    assert "GB" not in serving_terms(served_config(LONG, None, 2048))
    assert "GB" not in serving_terms(CONFIG)


@pytest.mark.parametrize("heads", [4, 8, 16])
def test_memory_grows_with_the_heads_of_the_widest_layer_and_the_square_of_the_tokens(heads):
    config = dataclasses.replace(LONG, backbone={**LONG.backbone, "num_attention_heads": heads})
    assert attention_bytes(config) == pytest.approx(attention_bytes(LONG) * max(heads, 8) / 8)
    assert attention_bytes(served_config(config, None, 2048)) == pytest.approx(attention_bytes(config) / 16)
