"""A stranger's tokenizer.json: what makes the library panic is a file that can't be read."""

import json
from typing import Any

import pytest
from lamr_base.errors import ModelMismatchError
from lamr_model.perplexity.causal_scorer import tokenizer_of
from lamr_model.tokens.tokenizer_files import parse_tokenizer

from tests.tiny import byte_bpe

TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[X]", "type_id": 0}}],
    "pair": [],
    "special_tokens": {},
}


def changed(**parts: Any) -> str:
    return json.dumps({**json.loads(byte_bpe().to_str()), **parts})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        changed(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        changed(post_processor=TEMPLATE),
        changed(model={"type": "BPE", "vocab": {"a": -1}, "merges": []}),
        changed(
            pre_tokenizer={
                "type": "Split",
                "pattern": {"Regex": "("},
                "behavior": "Isolated",
                "invert": False,
            }
        ),
    ],
    ids=range(7),
)
def test_what_is_no_tokenizer_is_refused(text: str) -> None:
    with pytest.raises(ModelMismatchError, match="can't be read as a tokenizer"):
        tokenizer_of(text.encode(), "h:1")


def test_a_tokenizer_is_read() -> None:
    assert parse_tokenizer(byte_bpe().to_str()).encode("import a").ids
