"""Small encoders and client files, for the tests of the contract and of the client."""

from pathlib import Path

import pytest
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository

from tests.tiny import BERT_PROMPT, QWEN_PROMPT, byte_bpe, indenting, make_spec, wordpiece, write_client_files


@pytest.fixture(scope="session")
def bert() -> PromptEncoder:
    tokenizer = wordpiece()
    return PromptEncoder(tokenizer, make_spec(tokenizer, BERT_PROMPT))


@pytest.fixture(scope="session")
def qwen() -> PromptEncoder:
    tokenizer = byte_bpe()
    return PromptEncoder(tokenizer, make_spec(tokenizer, QWEN_PROMPT))


@pytest.fixture(scope="session")
def indents() -> PromptEncoder:
    tokenizer = indenting()
    return PromptEncoder(tokenizer, make_spec(tokenizer, BERT_PROMPT))


@pytest.fixture(scope="session", params=["bert", "qwen", "indents"])
def encoder(request) -> PromptEncoder:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def bundled() -> PromptEncoder:
    """The shipped model's."""
    return PromptEncoder.from_repository(bundled_repository())


@pytest.fixture(scope="session")
def repository(tmp_path_factory) -> Path:
    """Client files of a tiny BERT-like model."""
    tokenizer = wordpiece()
    return write_client_files(tmp_path_factory.mktemp("tiny"), make_spec(tokenizer, BERT_PROMPT), tokenizer)


@pytest.fixture(scope="session")
def wide_repository(tmp_path_factory) -> Path:
    """The same with large chunks, for large files."""
    tokenizer = wordpiece()
    spec = make_spec(tokenizer, BERT_PROMPT, window=4096, tokens=2048, overlap=128)
    return write_client_files(tmp_path_factory.mktemp("wide"), spec, tokenizer)
