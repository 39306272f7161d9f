"""`Pruner` above a fake transport: merging, bad input, retries, deadlines, passthrough, concurrency."""

import base64
import itertools
import json
import math
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from lamr_client import (
    DeadlineExceededError,
    InvalidInputError,
    LamrError,
    ModelMismatchError,
    OverloadedError,
    PromptEncoder,
    Pruner,
    QuotaExceededError,
    ServerError,
    ServerUnavailableError,
    job,
)
from lamr_client.mock_transport import MockTransport, uniform_answer
from lamr_client.prune_options import PruneCall, PruneOptions
from lamr_client.reading_plan import Pace
from lamr_model.model_io import ChunkRequest
from lamr_model.rules import Scoring
from lamr_model.scoring.scorer import Scorer
from lamr_postprocess import SourceFile, approximate_tokens, line_spans, prune_lines
from lamr_postprocess.lines import TokenLines, code_points

from tests.analyses import ANALYSES, counting
from tests.tiny import (
    BERT_PROMPT,
    IN_FULL,
    byte_bpe,
    line_weights,
    lines_scoring,
    make_spec,
    program,
    wordpiece,
    write_client_files,
)

from .answers import answer

QUERY = "which function computes the area?"
SCORER = Scorer(Scoring(), ("semantic", "dependency"))


def pruner(repository, transport, **options) -> Pruner:
    return Pruner(model=repository, transport=transport, **options)


def pruned(repository, code, transport=None, query=QUERY, **options):
    """The answer of one call to a pruner of its own."""
    with pruner(repository, transport or MockTransport(answer)) as subject:
        return subject.prune(query, code, **options)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_result_equals_a_plain_reference(repository, end):
    code = program(40, end)
    encoder = PromptEncoder.from_repository(repository)
    ids, offsets = encoder.encode_document(code)
    chunks = encoder.chunk(encoder.encode_query(QUERY), ids, offsets, code)
    assert len(chunks) > 5
    held = [[] for _ in ids]
    relevance = 0.0
    for chunk in chunks:
        result = answer(ChunkRequest(chunk.input_ids, chunk.document_span, want_rubrics=True))
        relevance = max(relevance, result.relevance)
        for i, decision in enumerate(result.keep):
            held[chunk.tokens[0] + i].append(decision)
    lines = TokenLines(offsets, code_points(code), line_spans(code)).means(
        [np.mean(scores) for scores in held]
    )

    result = pruned(repository, code, path="area.py", threshold=0.7)
    np.testing.assert_allclose(result.line_scores, lines, atol=1e-6)
    expected = prune_lines(code, lines, path="area.py", answering=0.7)
    assert (result.text, result.kept_lines, result.cuts) == (
        expected.text,
        expected.kept_lines,
        expected.cuts,
    )
    assert result.cuts
    assert result.relevance == relevance
    assert result.status == "pruned"
    assert result.tokens_in == encoder.table("o200k").count_tokens(code)
    assert result.tokens_out == encoder.table("o200k").count_tokens(result.text)
    assert result.model == "tiny 1"
    assert set(result.reasons) == set(result.kept_lines)
    assert (
        0 < result.timings.encode + result.timings.infer + result.timings.postprocess <= result.timings.total
    )


def numbered(functions: int) -> str:
    """A program as a tool prints it, under numbers."""
    lines = program(functions).splitlines(keepends=True)
    return "".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))


@pytest.mark.parametrize("options", [{}, {"max_tokens": 300}, {"markers": "named", "keep": [3]}])
@pytest.mark.parametrize("code", [program(20), numbered(20)])
def test_a_text_is_analysed_once(repository, monkeypatch, code, options):
    counts = counting(monkeypatch)
    with pruner(repository, MockTransport(answer)) as subject:
        subject.prune(QUERY, code, path="a.py", **options)
        assert counts == dict.fromkeys(ANALYSES, 1)
        subject.prune("area of a square", code, path="a.py", **options)
    assert counts == dict.fromkeys(ANALYSES, 1), "another question needs none"


def test_a_source_file_is_pruned_as_its_text(repository):
    with pruner(repository, MockTransport(answer)) as subject:
        given = subject.prune(QUERY, SourceFile(program(20), "a.py"), max_tokens=300)
        expected = subject.prune(QUERY, program(20), path="a.py", max_tokens=300)
        assert (given.text, given.language) == (expected.text, "python")
        with pytest.raises(InvalidInputError, match="binary files"):
            subject.prune(QUERY, SourceFile("a\0b"))


def test_dependency_is_a_reason_where_that_rubric_says_more(repository):
    def rule(request):
        result = uniform_answer(request)
        m = len(result.keep)
        rubric_prob = np.tile(np.float32([0.2, 0.9]), (m, 1))
        return type(result)(result.keep, result.keep_prob, rubric_prob, None, 1.0)

    reasons = pruned(repository, program(3), MockTransport(rule), path="a.py").reasons
    assert "dependency" in reasons.values()
    assert "semantic" not in reasons.values()


def test_result_is_json_with_exactly_its_fields(repository):
    result = pruned(repository, program(10), path="a.py")
    data = json.loads(result.to_json())
    assert set(data) == set(result.__dataclass_fields__)
    assert data["kept_lines"] == list(result.kept_lines)
    assert data["cuts"] == [{"start": cut.start, "end": cut.end} for cut in result.cuts]
    assert set(data["timings"]) == {"encode", "infer", "postprocess", "total"}


def test_default_threshold_is_the_models(repository):
    no_decision_to_keep = MockTransport(lambda request: uniform_answer(request, 0.45))
    assert not pruned(repository, "area = 1\n" * 30, no_decision_to_keep).kept_lines
    assert pruned(repository, "area = 1\n" * 3, MockTransport(uniform_answer)).kept_lines == (1, 2, 3)


def test_the_threshold_that_lines_were_compared_with_is_told(tmp_path):
    tokenizer = wordpiece()
    adapting = lines_scoring(shares=(0.2, 0.5))
    spec = make_spec(tokenizer, BERT_PROMPT, scoring=adapting, threshold=0.95)
    root = write_client_files(tmp_path, spec, tokenizer, line_weights(keep_prob=1.0))
    code = program(40)
    with pruner(root, MockTransport(answer)) as subject:
        adapted = subject.prune(QUERY, code, path="a.py", **IN_FULL)
        again = subject.prune(QUERY, code, path="a.py", threshold=adapted.threshold, **IN_FULL)
        others = [subject.prune(QUERY, code, ratio=2), subject.prune(QUERY, code, max_tokens=500)]
        unscored = [subject.prune(QUERY, text, min_tokens=100) for text in ("", "x = 1\n")]
    assert adapted.threshold < spec.threshold, "no line scores so much, and a fifth of them stay"
    assert (again.text, again.threshold) == (adapted.text, adapted.threshold)
    assert again.kept_lines != tuple(range(1, len(again.line_scores) + 1))
    assert adapted.to_dict()["threshold"] == adapted.threshold
    assert [result.threshold for result in (*others, *unscored)] == [None] * 4


def test_code_below_min_tokens_passes_unjudged(repository):
    code = program(6)
    transport = MockTransport(lambda request: uniform_answer(request, 0.0))
    with pruner(repository, transport) as subject:
        result = subject.prune(QUERY, code, min_tokens=10_000)
        assert (result.text, result.status) == (code, "passthrough")
        assert result.reason == f"passed through: {result.tokens_in} tokens, fewer than min_tokens 10000"
        assert result.tokens_in == result.tokens_out > 0
        assert len(result.kept_lines) == len(line_spans(code))
        assert not transport.requests
        assert subject.prune(QUERY, code, min_tokens=result.tokens_in).status == "pruned"
        bounded = subject.prune(QUERY, code, min_tokens=10_000, max_tokens=result.tokens_in - 1)
        assert bounded.tokens_out < result.tokens_in
        with pytest.raises(InvalidInputError, match="min_tokens"):
            subject.prune(QUERY, code, min_tokens=-1)


def test_budgets_count_by_the_tokenizer_that_is_named(repository, tmp_path):
    code = program(40)
    file, readers = tmp_path / "tokenizer.json", byte_bpe()
    readers.save(str(file))
    with pruner(repository, MockTransport(answer)) as subject:
        for tokenizer, count in (
            (None, subject.encoder.table("o200k").count_tokens),
            ("any", subject.encoder.table("any").count_tokens),
            ("model", subject.encoder.count_tokens),
        ):
            result = subject.prune(QUERY, code, path="a.py", max_tokens=300, tokenizer=tokenizer)
            assert 200 < result.tokens_out == count(result.text) <= 300
            assert result.tokens_in == count(code)
        result = subject.prune(QUERY, code, path="a.py", max_tokens=900, tokenizer=file)
        assert 600 < result.tokens_out == len(readers.encode(result.text, add_special_tokens=False)) <= 900
        for wrong in (tmp_path, tmp_path / "none.json", __file__):
            with pytest.raises(InvalidInputError, match="is no tokenizer"):
                subject.prune(QUERY, code, tokenizer=wrong)


def test_budgets_are_kept(repository):
    code = program(40)
    with pruner(repository, MockTransport(answer)) as subject:
        half = subject.prune(QUERY, code, path="a.py", ratio=2)
        few = subject.prune(QUERY, code, path="a.py", max_tokens=200)
        with pytest.raises(InvalidInputError, match="max_tokens is 1"):
            subject.prune(QUERY, code, path="a.py", max_tokens=1)
    assert half.tokens_out <= half.tokens_in / 2
    assert 150 < few.tokens_out <= 200


def test_keep_keeps_and_says_so(repository):
    nothing = MockTransport(lambda request: uniform_answer(request, 0.0))
    result = pruned(repository, "a = 1\n" * 20 + "area = 2\n", nothing, keep=[2, (4, 5), "^area"])
    assert [line for line, why in result.reasons.items() if why == "keep"] == [2, 4, 5, 21]


# ---- bad input


@pytest.mark.parametrize(
    ("code", "kept", "why"), [("", (), "empty"), (b"", (), "empty"), ("\n \n\t\n", (1, 2, 3), "white space")]
)
def test_code_without_ink_is_kept_and_said_so(repository, code, kept, why):
    transport = MockTransport(answer)
    result = pruned(repository, code, transport)
    assert (result.text, result.kept_lines, result.status) == (code or "", kept, "passthrough")
    assert len(result.line_scores) == len(kept)
    assert why in result.reason
    assert not transport.requests


BAD_INPUTS = [
    ("", "x = 1", "query is empty"),
    (" \n", "x = 1", "query is empty"),
    ("\u200b", "x = 1", "no word that the model's tokenizer knows"),
    ("a\0b", "x = 1", "query has a NUL at character 1"),
    ("a\ud800", "x = 1", "query has a lone surrogate at character 1"),
    (b"bytes", "x = 1", "query must be str"),
    (QUERY, "x = 1\n\0", "NUL at character 6"),
    (QUERY, b"x = 1\n\0", "NUL at character 6"),
]
UNDECODABLE = [
    (QUERY, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary.* at byte 0"),
    (QUERY, bytes(range(1, 256)), "binary.* at byte 127"),
    (QUERY, "x = '\udc80'", "code has a lone surrogate at character 5"),
    (QUERY, 7, "must be str or bytes, not int"),
]


def test_bytes_come_back_as_they_were_encoded(repository):
    code = "/* retry “limit” */\r\nint limit = 3;\r\n".encode("cp1252")
    with pruner(repository, MockTransport(answer)) as subject:
        result = subject.prune(QUERY, code, threshold=0)
        passed = subject.prune(QUERY, code, max_tokens=1, on_error="passthrough")
    assert (result.text, result.to_bytes()) == (code.decode("cp1252"), code)
    assert result.to_dict()["encoding"] == "cp1252"
    assert (passed.status, passed.to_bytes()) == ("passthrough", code)


@pytest.mark.parametrize(("query", "code", "message"), BAD_INPUTS + UNDECODABLE)
def test_bad_input_raises_before_anything_is_sent(repository, query, code, message):
    transport = MockTransport(answer)
    with pytest.raises(InvalidInputError, match=message):
        pruned(repository, code, transport, query=query)
    assert not transport.requests


@pytest.mark.parametrize(
    ("words", "message"),
    [("a\0b", "has a NUL at character 1"), (7, "must be str"), ("\ud800", "has a lone surrogate")],
)
@pytest.mark.parametrize("argument", ["task", "history"])
def test_bad_words_raise_before_anything_is_sent(repository, argument, words, message):
    transport = MockTransport(answer)
    with pytest.raises(InvalidInputError, match=message) as caught:
        pruned(repository, "x = 1", transport, **{argument: words})
    assert caught.value.argument == argument
    assert not transport.requests


def test_a_long_query_is_read_in_part_and_said_so(repository):
    assert pruned(repository, "x = 1").query_read is None
    result = pruned(repository, "def area():\n    return 1\n", query="area " * 200)
    assert result.query_read
    assert set(result.query_read.split()) == {"area"}
    assert result.to_dict()["query_read"] == result.query_read


def test_of_a_task_the_model_reads_what_speaks_of_the_code(repository):
    task = (
        "Mend it\n" + "We like cats a lot.\n" * 50 + "The colour of a shape is wrong.\n" + "Thank you. " * 50
    )
    result = pruned(repository, "def colour(shape):\n    return 1\n", query="area", task=task)
    assert pruned(repository, "x = 1", query="area", task="of shapes").query_read is None
    assert result.query_read.startswith("area\n")
    assert "The colour of a shape is wrong." in result.query_read


@pytest.fixture
def naming(tmp_path) -> Pruner:
    """A pruner whose model needs nothing but lines that are named."""
    tokenizer = wordpiece()
    spec = make_spec(tokenizer, BERT_PROMPT, scoring=lines_scoring(bias=-10.0), threshold=0.5)
    root = write_client_files(tmp_path, spec, tokenizer, line_weights(own=0.1, named=20.0))
    return pruner(root, MockTransport(uniform_answer))


def test_lines_that_query_and_task_name_by_number_are_kept(naming):
    code = program(40)
    trace = "We like cats. " * 400 + '\n  File "/app/src/shapes.py", line 133, in area26\n' + "Dogs. " * 400
    with naming as subject:
        results = [
            subject.prune("look at line 133", code, path="src/shapes.py"),
            subject.prune("colour", code, path="src/shapes.py", task=trace),
            subject.prune("colour", code, path="src/others.py", task=trace),
        ]
    assert [133 in result.kept_lines for result in results] == [True, True, False]
    assert max(len(result.kept_lines) for result in results) < 10
    assert results[1].query_read is not None
    assert "133" not in results[1].query_read, "the line counts though the model didn't read of it"


def test_lines_of_a_part_of_a_file_are_named_by_their_own_numbers(naming):
    lines = program(40).splitlines()
    listing = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 101))
    matches = "\n".join(f"{number}:{line}" for number, line in enumerate(lines, 101) if number % 7)
    with naming as subject:
        kept = subject.prune("shapes.py:132", listing, path="shapes.py").kept_lines
        assert 132 - 100 in kept
        assert 132 not in kept
        assert subject.prune("shapes.py:132", matches, path="shapes.py").status == "pruned"


@pytest.mark.parametrize(("query", "code", "message"), BAD_INPUTS)
def test_bad_input_passes_through_on_demand(repository, query, code, message):
    result = pruned(repository, code, query=query, on_error="passthrough")
    assert result.status == "passthrough"
    assert result.reason.startswith("InvalidInputError: ")
    assert result.text == (code if isinstance(code, str) else code.decode())


@pytest.mark.parametrize(("query", "code", "message"), UNDECODABLE)
def test_what_cannot_be_decoded_raises_even_then(repository, query, code, message):
    with pytest.raises(InvalidInputError, match=message):
        pruned(repository, code, query=query, on_error="passthrough")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": math.nan}, "threshold"),
        ({"ratio": 0.5}, "ratio"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"keep": ["("]}, "not a regular expression"),
        ({"keep": "not_full"}, r"write keep=\['not_full'\]"),
        ({"keep": 7}, r"write keep=\[7\]"),
        ({"keep": (10, 20)}, "can be two lines or a range"),
        ({"keep": [(3, 2)]}, "3-2"),
        ({"keep": [0]}, "0-0"),
        ({"language": "klingon"}, "klingon"),
        ({"on_error": "ignore"}, "on_error"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_bad_options_raise_even_with_passthrough(repository, options, message):
    transport = MockTransport(answer)
    subject = pruner(repository, transport, on_error="passthrough")
    with subject, pytest.raises(InvalidInputError, match=message):
        subject.prune(QUERY, "x = 1", **options)
    assert not transport.requests


@pytest.mark.parametrize(
    "code",
    [
        "a = 1\r\nb = 2\r\n",
        "a = 1\rb = 2\r",
        "a = 1\x0cb = 2\nc = 3",
        "a = '\x1c\x1d\x1e'\nb = 2",
        "a = '\u2028\x85'\nb = 2\n\n",
        "\ufeffa = 1\n",
        "name = '\U0001f600'\n\tb = 2",
        "def broken(:\n    return ]\n",
        "\\\n" * 5 + "'''\n",
    ],
)
def test_kept_text_comes_back_byte_for_byte(repository, code):
    for given in (code, code.encode()):
        result = pruned(repository, given, MockTransport(uniform_answer), language="python")
        assert result.text == code
        assert len(result.line_scores) == len(line_spans(code)) == len(result.kept_lines)


def test_python_that_does_not_parse_says_so(repository):
    result = pruned(repository, "def broken(:\n    return ]\n" * 30, language="python", threshold=0.7)
    assert result.status == "pruned"
    assert "syntax errors in lines 1-60" in result.reason


# ---- encoded data


def notebook(image: str) -> str:
    """A notebook as Jupyter writes it: one cell whose output is an image."""
    data = {"image/png": image, "text/plain": ["<Figure size 640x480>"]}
    plot = {"output_type": "display_data", "metadata": {}, "data": data}
    cell = {"cell_type": "code", "metadata": {}, "outputs": [plot], "source": ["area = 1\n", "plot(area)"]}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


IMAGE = base64.b64encode(np.random.default_rng(0).bytes(6000)).decode()


def test_images_of_notebooks_are_cut_and_never_judged(repository):
    transport, code = MockTransport(uniform_answer), notebook(IMAGE)
    with pruner(repository, transport) as subject:
        result = subject.prune(QUERY, code, path="area.ipynb")
        asked, transport.requests = transport.requests, []
        other = subject.prune(QUERY, notebook(""), path="area.ipynb")
    shown, without = (
        [request.input_ids.tolist() for request in requests] for requests in (asked, transport.requests)
    )
    assert shown == without
    (cut,) = result.cuts
    assert IMAGE in code.splitlines()[cut.start - 1]
    assert cut.start == cut.end
    assert json.loads(result.text)["cells"][0]["outputs"][0]["data"]["//"] == f"... {cut.start} pruned"
    shown_image, kept = code.splitlines()[cut.start - 1], result.text.splitlines()
    assert [line for line in code.splitlines() if line != shown_image] == kept[: cut.start - 1] + kept[
        cut.start :
    ]
    assert result.line_scores[cut.start - 1] == 0
    assert "1 line of encoded data" in result.reason
    assert other.reason.startswith("nothing was cut")
    assert result.tokens_out < result.tokens_in


def test_an_image_is_kept_where_it_is_asked_for(repository):
    code = notebook(IMAGE)
    for options in ({"keep": ["image/png"]}, {"repair": False}, {"threshold": 0.0}):
        shown = pruned(repository, code, MockTransport(uniform_answer), path="area.ipynb", **options)
        assert shown.text == code


def test_a_file_of_nothing_but_data_is_judged(repository):
    transport = MockTransport(uniform_answer)
    assert pruned(repository, "A" * 2000, transport).text == "A" * 2000
    assert transport.requests


# ---- retries, deadlines, passthrough


@pytest.mark.parametrize("error", [ServerUnavailableError("gone"), OverloadedError("full")])
def test_safe_errors_are_tried_again_so_many_times(repository, error):
    transport = MockTransport(answer, errors=[error, error])
    assert pruned(repository, "area = 1\n", transport).kept_lines == (1,)
    assert len(transport.requests) == 3
    transport = MockTransport(answer, errors=[error] * 9)
    with pruner(repository, transport, retries=1) as subject, pytest.raises(type(error), match=str(error)):
        subject.prune(QUERY, "area = 1\n")
    assert len(transport.requests) == 2


def test_a_quota_is_waited_for_within_the_deadline(repository):
    error = QuotaExceededError("come back in 0.2 s", retry_after=0.2)
    transport = MockTransport(answer, errors=[error])
    begin = time.monotonic()
    assert pruned(repository, "area = 1\n", transport).kept_lines == (1,)
    assert time.monotonic() - begin > 0.2
    late = QuotaExceededError("come back in 1000 s", retry_after=1000)
    transport = MockTransport(answer, errors=[late])
    with pytest.raises(QuotaExceededError) as caught:
        pruned(repository, "area = 1\n", transport)
    assert caught.value.retry_after == 1000
    assert len(transport.requests) == 1


@pytest.mark.parametrize(
    "error",
    [DeadlineExceededError("late"), ModelMismatchError("other"), ServerError("broken"), LamrError("closed")],
)
def test_other_errors_are_not_tried_again(repository, error):
    transport = MockTransport(answer, errors=[error])
    with pytest.raises(type(error)):
        pruned(repository, "area = 1\n", transport)
    assert len(transport.requests) == 1


def test_timeout_bounds_everything_retries_included(repository):
    transport = MockTransport(answer, errors=[ServerUnavailableError("gone")] * 100, delay=0.02)
    begin = time.monotonic()
    with pruner(repository, transport, retries=99) as subject:
        with pytest.raises(ServerUnavailableError, match="gone"):
            subject.prune(QUERY, "area = 1\n", timeout=0.5)
        assert time.monotonic() - begin < 3
    assert len(transport.requests) > 1
    assert all(0 < timeout <= 0.5 for timeout in transport.timeouts)


def test_a_pause_that_ends_after_the_deadline_raises_the_last_error(repository, monkeypatch):
    late = SimpleNamespace(
        monotonic=time.monotonic, sleep=lambda each: time.sleep(each + 0.5)
    )  # a busy machine
    monkeypatch.setattr("lamr_client.deadline.time", late)
    transport = MockTransport(answer, errors=[OverloadedError("full")] * 9)
    with pruner(repository, transport, retries=9) as subject, pytest.raises(OverloadedError, match="full"):
        subject.prune(QUERY, "area = 1\n", timeout=0.4)
    assert len(transport.requests) == 1


def test_deadline_passes_between_chunks(repository):
    transport = MockTransport(answer, delay=0.1)
    begin = time.monotonic()
    with pruner(repository, transport, max_concurrency=2) as subject:
        with pytest.raises(DeadlineExceededError, match=r"within 0\.35 s"):
            subject.prune(QUERY, program(200), timeout=0.35)
        assert time.monotonic() - begin < 3
    assert len(transport.requests) < 12


def test_stuck_transport_does_not_outlast_the_timeout(repository):
    transport = MockTransport(answer, delay=2.5)  # ignores its timeout
    begin = time.monotonic()
    with pruner(repository, transport) as subject:
        with pytest.raises(DeadlineExceededError):
            subject.prune(QUERY, program(40), timeout=0.2)
        assert time.monotonic() - begin < 2


def test_infinite_timeout(repository):
    transport = MockTransport(answer)
    with pruner(repository, transport, timeout=math.inf) as subject:
        subject.prune(QUERY, program(40))
    assert set(transport.timeouts) == {None}


@pytest.mark.parametrize("per_call", [True, False])
def test_server_errors_pass_through_and_say_why(repository, per_call):
    code = program(2)
    transport = MockTransport(answer, errors=[ServerUnavailableError("nobody at localhost:1")] * 3)
    setup, call = ({}, {"on_error": "passthrough"}) if per_call else ({"on_error": "passthrough"}, {})
    with pruner(repository, transport, **setup) as subject:
        result = subject.prune(QUERY, code, **call)
    assert (result.status, result.text) == ("passthrough", code)
    assert result.reason == "ServerUnavailableError: nobody at localhost:1"
    assert result.kept_lines == tuple(range(1, len(line_spans(code)) + 1))
    assert result.relevance is None
    assert result.tokens_in == result.tokens_out > 0
    json.dumps(result.to_dict())


def test_per_call_raise_overrides_passthrough(repository):
    transport = MockTransport(answer, errors=[ServerError("broken")])
    with pruner(repository, transport, on_error="passthrough") as subject, pytest.raises(ServerError):
        subject.prune(QUERY, "x = 1", on_error="raise")


def test_defects_are_not_disguised_as_passthrough(repository):
    def rule(request):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pruned(repository, program(40), MockTransport(rule), on_error="passthrough")


# ---- concurrency and memory


@pytest.mark.parametrize("limit", [1, 3])
def test_concurrency_is_bounded_over_all_threads(repository, limit):
    transport = MockTransport(answer, delay=0.003)
    with pruner(repository, transport, max_concurrency=limit) as subject, ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda i: subject.prune(QUERY, program(20 + i)), range(4)))
    assert transport.most_at_once == limit
    with pruner(repository, MockTransport(answer), max_concurrency=limit) as alone:
        assert [alone.prune(QUERY, program(20 + i)).line_scores for i in range(4)] == [
            r.line_scores for r in results
        ]


def test_batching_transports_get_groups_in_order(repository):
    class Batching(MockTransport):
        batch_size = 4
        concurrency = 1
        sizes: list[int] = []  # noqa: RUF012

        def infer_many(self, requests, timeout=None):
            self.sizes.append(len(requests))
            return super().infer_many(requests, timeout)

    transport = Batching(answer)
    with pruner(repository, transport) as subject, pruner(repository, MockTransport(answer)) as reference:
        code = program(40)
        assert subject.prune(QUERY, code).line_scores == reference.prune(QUERY, code).line_scores
    assert set(transport.sizes[:-1]) == {4}
    assert transport.most_at_once == 1


def test_five_megabytes_pass_with_few_requests_in_memory(wide_repository):
    code = program(60_000)
    assert len(code) > 5_000_000
    alive: dict[int, weakref.ref] = {}
    lock = threading.Lock()
    most = 0

    def rule(request):
        nonlocal most
        with lock:
            key = id(request.input_ids)
            alive[key] = weakref.ref(request.input_ids, lambda _: alive.pop(key, None))
            most = max(most, len(alive))
        return answer(request)

    transport = MockTransport(rule)
    transport.requests = transport.timeouts = Forgetful()
    with pruner(wide_repository, transport, timeout=280) as subject:
        result = subject.prune(QUERY, code, language="text")
    assert transport.requests.count > 500
    assert most <= 3 * 8  # under way, answered and not yet merged, and next
    assert len(result.line_scores) == len(line_spans(code))
    assert result.status == "pruned"


class Forgetful:
    count = 0

    def append(self, item):
        self.count += 1


def test_one_line_of_a_megabyte(wide_repository):
    code = "area(" + "width, " * 150_000 + ")"
    with pruner(wide_repository, MockTransport(uniform_answer), timeout=280) as subject:
        result = subject.prune(QUERY, code)
    assert result.kept_lines == (1,)
    assert result.text == code


def test_closing(repository):
    transport = MockTransport(answer)
    with pruner(repository, transport) as subject:
        subject.prune(QUERY, program(40))
    assert transport.closed
    for code in ("x = 1", program(40)):
        with pytest.raises(LamrError, match="closed"):
            subject.prune(QUERY, code)
    subject.close()


def test_closing_while_another_thread_prunes(repository):
    subject = pruner(repository, MockTransport(answer, delay=0.05), max_concurrency=2)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(subject.prune, QUERY, program(200))
        time.sleep(0.3)
        subject.close()
        with pytest.raises(LamrError, match="closed"):
            call.result(timeout=5)


# ---- construction


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"server": "localhost:1", "transport": MockTransport(answer)}, "not both"),
        ({"server": "localhost"}, "host:port"),
        ({"transport": MockTransport(answer), "max_concurrency": 0}, "max_concurrency"),
        ({"transport": MockTransport(answer), "retries": -1}, "retries"),
        ({"transport": MockTransport(answer), "timeout": -1}, "timeout"),
        ({"transport": MockTransport(answer), "on_error": "never"}, "on_error"),
    ],
)
def test_setup_that_cannot_work_is_refused(repository, options, message):
    with pytest.raises(InvalidInputError, match=message):
        Pruner(model=repository, **options)


def test_missing_client_files_are_named(tmp_path):
    with pytest.raises(ModelMismatchError, match=r"lamr\.json is missing"):
        Pruner(model=tmp_path, transport=MockTransport(answer))


class Expiring:
    """A deadline that is over after so many looks at it."""

    def __init__(self, looks):
        self.left = looks

    def remaining(self):
        self.left -= 1
        if self.left < 0:
            raise DeadlineExceededError("over")

    def moment(self, least):
        return math.inf


def unreachable(*_, **__):
    raise AssertionError("the deadline was over before")


def job_until(repository, deadline, code, **options) -> job.ChunkReading:
    """The reading of a job whose every step looks at a deadline."""
    encoder, call = PromptEncoder.from_repository(repository), PruneCall("raise", deadline, deadline)
    shared = job.Shared(encoder, SCORER)
    return job.PruneJob(shared, QUERY, code, PruneOptions(**options), call).read()


def answer_all(subject: job.ChunkReading) -> None:
    for chunk in itertools.chain.from_iterable(subject.groups(Pace(), 8)):
        request = ChunkRequest(chunk.input_ids, chunk.document_span, want_rubrics=True)
        subject.add(chunk.tokens, answer(request))


def test_a_deadline_is_kept_while_a_text_is_encoded(repository):
    deadline = Expiring(3)
    subject = job_until(repository, deadline, program(2000))
    with pytest.raises(DeadlineExceededError):
        next(subject.groups(Pace(), 8))
    assert deadline.left == -1
    with pruner(repository, MockTransport(answer)) as subject, pytest.raises(DeadlineExceededError):
        subject.prune(QUERY, program(2000), timeout=1e-6)


def test_a_deadline_is_kept_before_a_text_is_repaired(repository, monkeypatch):
    deadline = Expiring(10_000)
    subject = job_until(repository, deadline, program(20))
    answer_all(subject)
    monkeypatch.setattr(job, "prune_lines", unreachable)
    deadline.left = 0
    with pytest.raises(DeadlineExceededError):
        subject.finish()


def test_a_deadline_is_kept_while_a_budget_is_searched(repository):
    deadline = Expiring(10_000)
    subject = job_until(repository, deadline, program(20), max_tokens=50)
    answer_all(subject)
    deadline.left = 2  # one before the search, one in it
    with pytest.raises(DeadlineExceededError):
        subject.finish()


def test_a_large_text_passes_through_with_its_tokens_estimated(repository, monkeypatch):
    monkeypatch.setattr("lamr_client.result.MOST_COUNTED_CHARS", 10)
    with pruner(repository, MockTransport(answer), on_error="passthrough") as subject:
        code = program(100)
        result = subject.prune(QUERY, code, timeout=1e-6)
    assert result.status == "passthrough"
    assert result.text == code
    assert result.tokens_in == result.tokens_out == approximate_tokens(code)


def test_progress_goes_from_chunk_to_chunk_up_to_all_tokens(repository):
    told = []
    with pruner(repository, MockTransport(answer), max_concurrency=1) as subject:
        subject.prune(QUERY, program(40), on_progress=lambda *counts: told.append(counts))
    judged, tokens = zip(*told, strict=True)
    assert len(told) > 1
    assert list(judged) == sorted(judged)
    assert {judged[-1]} == set(tokens) == {subject.encoder.count_tokens(program(40))}


@pytest.mark.parametrize("code", ["x = 1\n", "\n\n\n", "   \n\t\n", "x\n", "x"])
@pytest.mark.parametrize("path", ["a.py", "a.html", "a.txt"])
def test_nothing_comes_back_longer_than_it_was(repository, code, path):
    result = pruned(repository, code, MockTransport(lambda request: uniform_answer(request, 0.01)), path=path)
    assert result.tokens_out <= result.tokens_in
    assert result.text == code
    assert result.status == "passthrough"
    assert "kept" in result.reason
    assert not result.cuts
    assert list(result.kept_lines) == list(range(1, len(line_spans(code)) + 1))


def test_line_numbers_are_written_whatever_they_cost(repository):
    keeping = MockTransport(lambda request: uniform_answer(request, 0.99))
    assert pruned(repository, "x = 1\n", keeping, path="a.py", line_numbers=True).text == "1\tx = 1\n"


def test_a_selection_alone_is_what_scores_enough(repository):
    bare = pruned(repository, program(40), path="area.py", repair=False)
    assert bare.kept_lines == tuple(np.flatnonzero(np.array(bare.line_scores) >= 0.4) + 1)
    assert set(bare.reasons.values()) <= {"semantic", "dependency", "repair:gap"}
    with pytest.raises(InvalidInputError, match="comment, named, swe-pruner, not 'dots'"):
        pruned(repository, program(40), markers="dots")
