"""Fixtures of the client's tests."""

from __future__ import annotations

import pytest
from lamr_client.encoding import PromptEncoder

from .tiny import BERT_PROMPT, QWEN_PROMPT, byte_bpe, make_spec, wordpiece


@pytest.fixture(scope="session")
def bert() -> PromptEncoder:
    tokenizer = wordpiece()
    return PromptEncoder(tokenizer, make_spec(tokenizer, BERT_PROMPT))


@pytest.fixture(scope="session")
def qwen() -> PromptEncoder:
    tokenizer = byte_bpe()
    return PromptEncoder(tokenizer, make_spec(tokenizer, QWEN_PROMPT))


@pytest.fixture(scope="session", params=["bert", "qwen"])
def encoder(request) -> PromptEncoder:
    return request.getfixturevalue(request.param)
