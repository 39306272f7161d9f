"""Packs: budgets that hold, parts that parse, formats, rankers, and the model's answers used and kept."""

from __future__ import annotations

import ast
import asyncio
import json
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from lamr_client import ChunkRequest, ChunkResult, MockTransport, Pruner, uniform_answer
from lamr_contract.errors import InvalidInputError
from lamr_postprocess import BudgetError, split_lines
from lamr_repositories import (
    FORMATS,
    RANKERS,
    PackOptions,
    PackResult,
    WalkOptions,
    pack,
    pack_async,
    prepare,
)
from lamr_repositories.line_scores import NEEDS_SCORER
from tokenizers import Tokenizer

from tests.repositories.conftest import FILES, POOL, QUERY, git, write_files
from tests.tiny import byte_bpe

BM25 = PackOptions(ranker="bm25")


def in_words(root: Path, tokens: int = 2_000, **fields: object) -> PackResult:
    """A pack without a model."""
    return pack(root, QUERY, tokens, options=PackOptions(ranker="bm25", **fields))  # type: ignore[arg-type]


def test_the_code_that_a_question_is_about_is_kept_within_the_budget(folder: Path) -> None:
    result = in_words(folder, 450)
    assert result.tokens <= 450
    first = max(result.files, key=lambda each: each.score)
    assert first.path == "src/pool.py"
    close = split_lines(POOL).index("    def close(self):\n") + 1
    assert {close, close + 2} <= set(first.kept_lines)
    assert first.reasons[close] == "semantic"
    assert "src/colours.py" not in {each.path for each in result.files}
    assert result.counts.left_out["vendored"] == 1
    assert result.tokens_in > result.tokens


def test_kept_lines_and_cuts_are_those_of_the_file(folder: Path) -> None:
    for each in in_words(folder, 600).files:
        lines = split_lines(FILES[each.path])
        kept = [lines[number - 1] for number in each.kept_lines]
        shown = split_lines(each.text)
        assert [line for line in shown if line in kept][: len(kept)] == kept
        assert len(shown) == len(kept) + len(each.cuts)
        cut = {line for cut in each.cuts for line in range(cut.start, cut.end + 1)}
        assert cut | set(each.kept_lines) == set(range(1, each.lines + 1))


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_exceeds_a_budget_or_breaks_a_file(folder: Path, form: str) -> None:
    rng = random.Random(form)
    with prepare(folder, QUERY, options=PackOptions(ranker="bm25", form=form)) as prepared:
        with pytest.raises(BudgetError) as caught:
            prepared.pack(20)
        least = caught.value.needed
        for budget in [least, *(rng.randint(least, 6_000) for _ in range(7))]:
            result = prepared.pack(budget)
            assert result.tokens <= budget
            assert result.tokens == prepared.counter.count_tokens(result.text)
            for each in result.files:
                if each.language == "python":
                    ast.parse(each.text)


def test_tokens_are_counted_by_the_readers_tokenizer(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    tokenizer: Tokenizer = byte_bpe()
    tokenizer.save(str(file))
    result = in_words(folder, 1500, tokenizer=file)
    assert result.tokens == len(tokenizer.encode(result.text, add_special_tokens=False)) <= 1500
    file.write_text("{}")
    with pytest.raises(InvalidInputError, match="is no tokenizer"):
        in_words(folder, 1500, tokenizer=file)


def test_xml_has_repomixs_shape(folder: Path) -> None:
    write_files(folder, {'src/a"<b>&.py': "closed = 'pool'\n"})
    text = in_words(folder).text
    paths = re.findall(r'^<file path="([^"]+)">$', text, re.MULTILINE)
    assert paths != sorted(paths)
    assert paths[0] == "src/pool.py"
    by_path = re.findall(r'^<file path="([^"]+)">$', in_words(folder, order="path").text, re.MULTILINE)
    assert by_path == sorted(paths)
    assert "src/a&quot;&lt;b>&amp;.py" in paths
    assert text.index("<directory_structure>") < text.index("<files>") < text.index("</files>")
    inside = re.search(r"<directory_structure>\n(.*?)\n</directory_structure>", text, re.DOTALL)
    assert inside
    assert "  pool.py" in inside[1].splitlines()
    ET.fromstring(
        re.sub(
            r"(?s)<file path.*</file>|<directory_structure>.*</directory_structure>", "", f"<all>{text}</all>"
        )
    )


def test_options_are_keywords_too_and_others_are_an_error(folder: Path, tmp_path: Path) -> None:
    packed = pack(folder, QUERY, 2_000, ranker="bm25", form="json", cache=str(tmp_path / "cache.sqlite"))
    assert json.loads(packed.text)["question"] == QUERY
    assert (tmp_path / "cache.sqlite").exists()
    with pytest.raises(TypeError, match="there is no keyword efort; there are"):
        pack(folder, QUERY, 2_000, efort="instant")  # type: ignore[call-arg]
    with pytest.raises(InvalidInputError, match="order must be one of score, path"):
        pack(folder, QUERY, 2_000, ranker="bm25", order="size")


def test_json_can_be_read_back(folder: Path) -> None:
    data = json.loads(in_words(folder, form="json").text)
    assert data["question"] == QUERY
    by_path = {each["path"]: each for each in data["files"]}
    assert by_path["src/pool.py"]["content"].startswith('"""Connections')
    assert data["directory_structure"]
    outlines = {each["path"]: each["definitions"] for each in data["outlines"]}
    assert outlines["src/retry.go"] == ["4: func Retry(f func() error, limit int) error {"]
    assert "outlines" not in json.loads(in_words(folder, 330, form="json").text)


def test_markdown_fences_are_longer_than_any_inside(folder: Path) -> None:
    write_files(folder, {"pool.md": "closed pool\n```python\nx\n```\n````\n"})
    text = in_words(folder, form="markdown").text
    assert "## File: pool.md\n`````markdown\n" in text


def test_line_numbers_are_the_originals(folder: Path) -> None:
    lines = split_lines(POOL)
    part = next(each for each in in_words(folder, 600, line_numbers=True).files if each.path == "src/pool.py")
    numbered = re.findall(r"^(\d+)\t(.*\n)", part.text, re.MULTILINE)
    assert numbered
    assert all(lines[int(number) - 1] == line for number, line in numbered)


def test_the_same_question_gives_the_same_pack(folder: Path) -> None:
    assert in_words(folder, 700).text == in_words(folder, 700).text


def test_a_budget_that_is_too_small_says_how_much_it_takes(folder: Path) -> None:
    with pytest.raises(BudgetError) as caught:
        in_words(folder, 10)
    assert in_words(folder, caught.value.needed).tokens <= caught.value.needed


def test_a_repository_without_files_gives_an_empty_pack(tmp_path: Path) -> None:
    result = pack(tmp_path, QUERY, 500, options=BM25)
    assert result.files == ()
    assert "<files>" in result.text


def test_options_are_checked(folder: Path) -> None:
    for wrong in (
        {"ranker": "none"},
        {"form": "none"},
        {"most_chunks": -1},
        {"revision": "a", "names": ("b",)},
    ):
        with pytest.raises(InvalidInputError):
            PackOptions(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="the query is empty"):
        pack(folder, " ", 500, options=BM25)


def mixing_is_the_answer(request: ChunkRequest) -> ChunkResult:
    """Say that what was asked about first is irrelevant, and everything in long chunks relevant."""
    tokens = request.document_span[1] - request.document_span[0]
    return uniform_answer(request, 0.99 if tokens > 150 else 0.01)


def test_the_model_moves_files_and_its_answers_are_kept(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    transport = MockTransport(mixing_is_the_answer)
    with Pruner(transport=transport) as pruner:
        by_model = PackOptions(ranker="relevance")
        first = pack(folder, QUERY, 900, pruner=pruner, cache=cache, options=by_model)
        asked = len(transport.requests)
        assert asked == first.counts.chunks > 0
        best = max(first.files, key=lambda each: each.score)
        assert best.path == "src/colours.py"
        again = pack(folder, QUERY, 900, pruner=pruner, cache=cache, options=by_model)
        assert len(transport.requests) == asked
        assert again.counts.cached_chunks == asked
        assert again.counts.cached_files == again.counts.ranked
        assert again.text == first.text
        write_files(folder, {"src/pool.py": POOL + "\n\ndef closed(pool):\n    return pool.closed\n"})
        changed = pack(folder, QUERY, 900, pruner=pruner, cache=cache, options=by_model)
        assert changed.counts.cached_files == changed.counts.ranked - 1
        assert 0 < len(transport.requests) - asked < asked
        pack(folder, "Which colours are mixed?", 900, pruner=pruner, cache=cache, options=by_model)
        assert len(transport.requests) > asked + 1


def test_the_number_of_chunks_is_bounded(folder: Path) -> None:
    with Pruner(transport=MockTransport()) as pruner:
        assert pack(folder, QUERY, 900, pruner=pruner, options=PackOptions(most_chunks=3)).counts.chunks == 3
        assert pack(folder, QUERY, 900, pruner=pruner, options=PackOptions(most_chunks=0)).counts.chunks == 0


def test_answers_that_came_before_an_interrupt_are_kept(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    asked = 0

    def interrupted(request: ChunkRequest) -> ChunkResult:
        nonlocal asked
        asked += 1
        if asked == 4:
            raise KeyboardInterrupt
        return uniform_answer(request)

    with (
        Pruner(transport=MockTransport(interrupted), max_concurrency=1) as pruner,
        pytest.raises(KeyboardInterrupt),
    ):
        pack(folder, QUERY, 900, pruner=pruner, cache=cache)
    with Pruner(transport=MockTransport()) as pruner:
        result = pack(folder, QUERY, 900, pruner=pruner, cache=cache)
    assert result.counts.cached_chunks >= 2
    assert result.counts.cached_files == result.counts.ranked


def test_every_ranker_packs_with_the_real_model(folder: Path) -> None:
    options = PackOptions(most_chunks=12, walk=WalkOptions(include=("src/",)))
    with prepare(folder, QUERY, options=options) as prepared:
        for ranker in RANKERS.keys() - NEEDS_SCORER:
            result = prepared.pack(700, ranker=ranker)
            assert result.tokens <= 700
            assert max(result.files, key=lambda each: each.score).path == "src/pool.py"


def test_packing_does_not_block_an_event_loop(folder: Path) -> None:
    async def both() -> PackResult:
        task = asyncio.ensure_future(pack_async(folder, QUERY, 900, options=BM25))
        await asyncio.sleep(0)
        assert not task.done()
        return await task

    assert asyncio.run(both()).text == in_words(folder, 900).text


def test_a_result_is_plain_data(folder: Path) -> None:
    result = in_words(folder, 500)
    data = json.loads(result.to_json())
    assert data["tokens"] == result.tokens
    assert data["files"][0]["kept_lines"] == list(result.files[0].kept_lines)
    assert "left out" in result.summary()


def test_a_question_that_is_too_long_for_the_model_is_read_in_part(folder: Path) -> None:
    noise = " ".join(f"On machine {n} the disk was full again." for n in range(300))
    question = f"{noise} {QUERY} {noise}"
    with Pruner(timeout=300) as pruner, prepare(folder, question, pruner=pruner) as prepared:
        result = prepared.pack(9_000)
    (note,) = [each for each in result.notes if each.startswith("of the question the model read: ")]
    assert QUERY in note
    assert len(note) < len(question) / 5
    assert "src/pool.py" in {each.path for each in result.files}
    assert result.query == question


def test_of_a_bare_repository_the_last_revision_is_packed(repository: Path) -> None:
    bare = repository.parent / "bare.git"
    git(repository, "clone", "-q", "--bare", ".", str(bare))
    assert in_words(bare).text == in_words(bare, revision="HEAD").text
    assert "src/pool.py" in {each.path for each in in_words(bare).files}
