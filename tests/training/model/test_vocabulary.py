"""The tokenizer of code: what becomes one token, and which characters it stands for."""

from lamr_training.backbone import Vocabulary

from tests.training.samples import encoder, tiny_model


def texts(words: Vocabulary, text: str) -> list[tuple[str, str]]:
    """The characters and the entry of each token."""
    encoding = words.tokenizer.encode(text, add_special_tokens=False)
    return [(text[a:b], token) for (a, b), token in zip(encoding.offsets, encoding.tokens, strict=True)]


def test_lines_with_their_indent_are_one_token(words: Vocabulary) -> None:
    tokens = texts(words, "if x:\n        y()\n\tz\r\n    w")
    assert [(s, t) for s, t in tokens if "\n" in s] == [(s, s) for s in ("\n        ", "\n\t", "\r\n    ")]
    assert ("()", "()") in tokens


def test_identifiers_are_split_and_offsets_are_those_of_the_text(words: Vocabulary) -> None:
    text = "loadFileCache(DEFAULT_TIMEOUTS, é)"
    tokens = texts(words, text)
    assert ("load", "load") in tokens
    assert ("File", "file") in tokens
    encoding = words.tokenizer.encode(text, add_special_tokens=False)
    last = text.index("TIMEOUTS"), text.index(",")
    pieces = [
        token.removeprefix("##")
        for (a, b), token in zip(encoding.offsets, encoding.tokens, strict=True)
        if last[0] <= a and b <= last[1]
    ]
    assert "".join(pieces) == "timeout"
    assert all(s.strip() == s and s and "_" not in s for s, _ in tokens)
    assert encoding.offsets == sorted(encoding.offsets)


def test_special_tokens_in_text_are_not_special(words: Vocabulary) -> None:
    model = tiny_model(words)
    ids = encoder(words, model).encode_query("a [SEP] b")
    assert words.tokenizer.token_to_id("[SEP]") not in ids.tolist()
