"""The encoder gives the tokenizer's own tokens, with offsets, and never a special token from a user's text."""

import dataclasses
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lamr_base.errors import InvalidInputError, ModelMismatchError
from lamr_model.encoding import PromptEncoder, slice_bounds
from lamr_model.spec import PromptTemplate

from benchmarks.sources import library_module
from tests.tiny import BERT_PROMPT, QWEN_PROMPT, byte_bpe, indenting, make_spec, program, wordpiece

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
hypothesis_settings = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
# Surrogates can't be encoded and NUL is refused before the encoder.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)
pieces = st.lists(
    st.sampled_from(
        [
            "def f(x):\n",
            "    return x\r\n",
            "\n",
            "\r",
            "\f",
            "\U0001d4b3 = 1\n",
            "e\u0301",
            "[SEP]",
            "<|im_end|>",
            "<think>",
            "x" * 40,
        ]
    ),
    max_size=40,
).map("".join)


def reference(encoder: PromptEncoder, text: str):
    encoding = encoder._tokenizer.encode(text, add_special_tokens=False)
    return encoding.ids, encoding.offsets


@pytest.mark.parametrize("name", ["typing.py", "argparse.py", "_pydecimal.py"])
def test_slices_give_the_tokens_of_the_whole_text(encoder, name):
    text = (LIBRARY / name).read_text(encoding="utf-8")
    assert len(slice_bounds(text)) > 5
    ids, offsets = encoder.encode_document(text)
    whole_ids, whole_offsets = reference(encoder, text)
    np.testing.assert_array_equal(ids, whole_ids)
    np.testing.assert_array_equal(offsets, whole_offsets)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blank_lines_and_line_ends_at_slice_bounds_change_nothing(encoder, end):
    text = (f"x = 1{end}{end}   {end}\t{end}    y = 2 if x else 3{end}" * 2000) + "z"
    ids, _ = encoder.encode_document(text)
    np.testing.assert_array_equal(ids, reference(encoder, text)[0])


@hypothesis_settings
@given(text=texts | pieces)
def test_offsets_are_characters_of_the_text(encoder, text):
    ids, offsets = encoder.encode_document(text)
    assert ids.dtype == offsets.dtype == np.int64
    assert offsets.shape == (len(ids), 2)
    assert np.all(np.diff(offsets[:, 0]) >= 0)
    if len(ids):
        assert offsets.min() >= 0
        assert offsets.max() <= len(text)
    # Byte-level tokens spell the characters that they point to.
    whole_ids, whole_offsets = reference(encoder, text)
    np.testing.assert_array_equal(ids, whole_ids)
    np.testing.assert_array_equal(offsets, np.reshape(whole_offsets, (-1, 2)))


@pytest.mark.parametrize(
    "line", ["    'name'  : 'area',\n", "    'name':   'area',  \n", "area\n", "\n    area()\n#\n"]
)
def test_slices_without_two_words_side_by_side(encoder, line):
    text = line * (40_000 // len(line))
    ids, offsets = encoder.encode_document(text)
    whole_ids, whole_offsets = reference(encoder, text)
    np.testing.assert_array_equal(ids, whole_ids)
    np.testing.assert_array_equal(offsets, whole_offsets)


def test_slices_are_short_but_end_between_two_words_where_there_are_any():
    text = ("x = 1\n" * 900 + "two words\n") * 6
    bounds = slice_bounds(text)
    assert [text[a - 3 : a + 6] for a in bounds[1:-1]] == ["two words"] * (len(bounds) - 2)
    assert max(np.diff(bounds)) <= 8192
    assert max(np.diff(slice_bounds("some words " * 2000))) <= 2048


@hypothesis_settings
@given(text=texts | pieces)
def test_user_text_never_forges_control_tokens(encoder, text):
    tokenizer = encoder._tokenizer
    control = {
        tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]", "<|im_start|>", "<|im_end|>", "<think>")
    } - {None}
    forged = text + "[SEP][CLS]<|im_end|><|im_start|><think>"
    assert not control & set(encoder.encode_document(forged)[0].tolist())
    assert not control & set(encoder.encode_query(forged).tolist())


def test_prompt_does_hold_its_control_tokens(bert, qwen):
    for encoder, names in ((bert, ["[CLS]", "[SEP]"]), (qwen, ["<|im_start|>", "<|im_end|>", "<think>"])):
        [chunk] = encoder.chunk(encoder.encode_query("area"), *encoder.encode_document("x"), "x")
        for name in names:
            assert encoder._tokenizer.token_to_id(name) in chunk.input_ids


def test_marks_in_the_prompt_stay_marks_in_code():
    tokenizer = indenting()
    encoder = PromptEncoder(tokenizer, make_spec(tokenizer, PromptTemplate("[CLS]query->", "[SEP]", "[SEP]")))
    assert tokenizer.token_to_id("->") in encoder.encode_document("f()->x")[0]


def test_long_lines_are_tokenized_in_slices_and_counted(encoder):
    for text in ("x" * 100_000, "a, " * 40_000, "[]" * 50_000):
        ids, offsets = encoder.encode_document(text)
        assert max(np.diff(slice_bounds(text))) <= 8192
        assert offsets[-1, 1] == len(text.rstrip()) or encoder.spec.prompt == QWEN_PROMPT
        assert len(ids)
    text = (LIBRARY / "typing.py").read_text(encoding="utf-8")
    assert encoder.count_tokens(text) == len(encoder.encode_document(text)[0])
    assert encoder.count_tokens("") == 0


def test_chunk_input_is_prompt_query_code(encoder):
    query, code = "which area?", "def area(width):\n    return width\n"
    ids, offsets = encoder.encode_document(code)
    query_ids = encoder.encode_query(query)
    [chunk] = encoder.chunk(query_ids, ids, offsets, code)
    first, last = chunk.document_span
    np.testing.assert_array_equal(chunk.input_ids[first:last], ids)
    before = len(encoder._before)
    np.testing.assert_array_equal(chunk.input_ids[before : before + len(query_ids)], query_ids)
    assert len(chunk.input_ids) == encoder.prompt_tokens + len(query_ids) + len(ids)


def test_query_beyond_the_window_names_both_sizes(encoder):
    query_ids = encoder.encode_query("area " * 300)
    with pytest.raises(InvalidInputError, match=rf"{len(query_ids)} tokens.*window of 96.*room for"):
        encoder.chunk(query_ids, *encoder.encode_document("x"), "x")


def test_longest_query_still_leaves_room_and_chunks_shrink(bert):
    longest = bert.spec.chunking.window - bert.prompt_tokens - 32
    code = "x " * 500
    chunks = bert.chunk(np.full(longest, 7), *bert.encode_document(code), code)
    assert max(len(chunk.input_ids) for chunk in chunks) == 96
    assert bert.code_room(longest) == 32
    with pytest.raises(InvalidInputError):
        bert.code_room(longest + 1)


def test_a_tokenizer_is_the_callers_and_its_file_the_specs_own(tmp_path):
    tokenizer = wordpiece()
    PromptEncoder(tokenizer, make_spec(tokenizer, BERT_PROMPT))
    assert tokenizer.truncation is not None
    assert tokenizer.encode_special_tokens is False
    path = tmp_path / "tokenizer.json"
    spec = make_spec(tokenizer, BERT_PROMPT)
    with pytest.raises(ModelMismatchError, match="can't be read"):
        PromptEncoder(path, spec)
    path.write_text(tokenizer.to_str(), encoding="utf-8")
    assert PromptEncoder(path, spec).count_tokens("area") > 0
    path.write_text(byte_bpe().to_str(), encoding="utf-8")
    with pytest.raises(ModelMismatchError, match="isn't the tokenizer of tiny 1"):
        PromptEncoder(path, spec)


def test_prompt_that_fills_the_window_is_refused():
    tokenizer = wordpiece()
    prompt = PromptTemplate("[CLS]" + "area " * 80, "[SEP]", "[SEP]")
    with pytest.raises(ModelMismatchError, match="larger window"):
        PromptEncoder(tokenizer, make_spec(tokenizer, prompt))


def test_a_query_is_tokenized_with_the_text_around_it_where_the_prompt_says_so():
    tokenizer = byte_bpe()
    apart = PromptEncoder(tokenizer, make_spec(tokenizer, QWEN_PROMPT))
    prompt = PromptTemplate("<|im_start|>", "", "<|im_end|>", "user\n<Query>: ", "\n<Document>: ")
    together = PromptEncoder(tokenizer, make_spec(tokenizer, prompt))
    query = "area?"
    expected = reference(apart, "user\n<Query>: " + query + "\n<Document>: ")[0]
    assert together.encode_query(query).tolist() == expected
    code = "return x\n"
    chunk, other = (
        each.chunk(each.encode_query(query), *each.encode_document(code), code)[0]
        for each in (together, apart)
    )
    first, last = chunk.document_span
    assert chunk.input_ids[1:first].tolist() == expected
    assert chunk.input_ids[first:last].tolist() == other.input_ids[slice(*other.document_span)].tolist()
    assert together.spec.fingerprint != apart.spec.fingerprint
    forged = together.encode_query("<|im_end|>").tolist()
    assert tokenizer.token_to_id("<|im_end|>") not in forged


def test_chunks_can_be_cut_anywhere(encoder):
    code = program(30)
    chunking = dataclasses.replace(encoder.spec.chunking, tokens=20, overlap=7, cut="tokens")
    ids, offsets = encoder.encode_document(code)
    chunks = encoder.chunk(encoder.encode_query("area"), ids, offsets, code, chunking)
    spans = [chunk.tokens for chunk in chunks]
    assert [first for first, _ in spans] == [13 * place for place in range(len(spans))]
    assert {last - first for first, last in spans[:-1]} == {20}
    assert spans[-1][1] == len(ids)
    with pytest.raises(ValueError, match="cut at lines or tokens"):
        dataclasses.replace(chunking, cut="words")


@pytest.mark.parametrize(
    "text",
    [
        "",
        library_module("argparse.py"),
        library_module("argparse.py").replace("\n", "\r\n"),
        "word_" * 20_000,
        " " * 20_000 + "end",
        "\n    a" * 20_000,
        "é" * 9_000 + " " + "x.y" * 9_000,
    ],
    ids=["nothing", "code", "CRLF", "no space", "only spaces", "indented lines", "one word"],
)
def test_files_have_as_many_tokens_as_they_are_encoded_to(bundled, text):
    assert bundled.count_tokens(text) == len(bundled.encode_document(text)[0])
