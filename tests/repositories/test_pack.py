"""Packs: budgets that hold, parts that parse, formats, and what the line model moves."""

import ast
import asyncio
import json
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from lamr_base.errors import InvalidInputError
from lamr_postprocess import BudgetError, split_lines
from lamr_repositories import FORMATS, PackOptions, PackResult, pack, pack_async, prepare
from tokenizers import Tokenizer

from tests.repositories.conftest import FILES, POOL, QUERY, git, write_files
from tests.tiny import byte_bpe


def packed(root: Path, tokens: int = 2_000, **fields: object) -> PackResult:
    """A pack by some options."""
    return pack(root, QUERY, tokens, options=PackOptions(**fields))  # type: ignore[arg-type]


def test_the_code_that_a_question_is_about_is_kept_within_the_budget(folder: Path) -> None:
    result = packed(folder, 450)
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
    for each in packed(folder, 600).files:
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
    with prepare(folder, QUERY, options=PackOptions(form=form)) as prepared:
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
    result = packed(folder, 1500, tokenizer=file)
    assert result.tokens == len(tokenizer.encode(result.text, add_special_tokens=False)) <= 1500
    file.write_text("{}")
    with pytest.raises(InvalidInputError, match="is no tokenizer"):
        packed(folder, 1500, tokenizer=file)


def test_xml_has_repomixs_shape(folder: Path) -> None:
    write_files(folder, {'src/a"<b>&.py': "closed = 'pool'\n"})
    text = packed(folder).text
    paths = re.findall(r'^<file path="([^"]+)">$', text, re.MULTILINE)
    assert paths != sorted(paths)
    assert paths[0] == "src/pool.py"
    by_path = re.findall(r'^<file path="([^"]+)">$', packed(folder, order="path").text, re.MULTILINE)
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
    result = pack(folder, QUERY, 2_000, form="json", cache=str(tmp_path / "cache.sqlite"))
    assert json.loads(result.text)["question"] == QUERY
    assert (tmp_path / "cache.sqlite").exists()
    with pytest.raises(TypeError, match="there is no keyword efort; there are"):
        pack(folder, QUERY, 2_000, efort="full")  # type: ignore[call-arg]
    with pytest.raises(InvalidInputError, match="order must be one of score, path"):
        pack(folder, QUERY, 2_000, order="size")


def test_json_can_be_read_back(folder: Path) -> None:
    data = json.loads(packed(folder, form="json").text)
    assert data["question"] == QUERY
    by_path = {each["path"]: each for each in data["files"]}
    assert by_path["src/pool.py"]["content"].startswith('"""Connections')
    assert data["directory_structure"]
    outlines = {each["path"]: each["definitions"] for each in data["outlines"]}
    assert outlines["src/retry.go"] == ["4: func Retry(f func() error, limit int) error {"]
    assert "outlines" not in json.loads(packed(folder, 330, form="json").text)


def test_json_escapes_what_cant_be_seen_in_names(folder: Path) -> None:
    write_files(folder, {"src/\u3164.py": POOL.replace("Wake", "Stop")})
    text = packed(folder, form="json").text
    assert "\u3164" not in text
    assert "src/\u3164.py" in {each["path"] for each in json.loads(text)["files"]}


def test_markdown_fences_are_longer_than_any_inside(folder: Path) -> None:
    write_files(folder, {"pool.md": "closed pool\n```python\nx\n```\n````\n"})
    text = packed(folder, form="markdown").text
    assert "## File: pool.md\n`````markdown\n" in text


def test_no_row_of_a_markdown_tree_is_a_fence(folder: Path) -> None:
    write_files(folder, {"```": POOL, "src/``` python": POOL})
    text = packed(folder, form="markdown").text
    before, _, after = text.partition("# Outlines")
    rows = before.partition("# Files")[0].splitlines()
    assert '"```"' in rows
    assert '  "``` python"' in rows
    for part in (rows, after.splitlines()):
        assert len([row for row in part if row.lstrip().startswith("```")]) in {0, 2}


def test_line_numbers_are_the_originals(folder: Path) -> None:
    lines = split_lines(POOL)
    part = next(each for each in packed(folder, 600, line_numbers=True).files if each.path == "src/pool.py")
    numbered = re.findall(r"^(\d+)\t(.*\n)", part.text, re.MULTILINE)
    assert numbered
    assert all(lines[int(number) - 1] == line for number, line in numbered)


def test_the_same_question_gives_the_same_pack(folder: Path) -> None:
    assert packed(folder, 700).text == packed(folder, 700).text


def test_a_budget_that_is_too_small_says_how_much_it_takes(folder: Path) -> None:
    with pytest.raises(BudgetError) as caught:
        packed(folder, 10)
    assert packed(folder, caught.value.needed).tokens <= caught.value.needed


def test_a_repository_without_files_gives_an_empty_pack(tmp_path: Path) -> None:
    result = pack(tmp_path, QUERY, 500)
    assert result.files == ()
    assert "<files>" in result.text


def test_options_are_checked(folder: Path) -> None:
    for wrong in ({"form": "none"}, {"max_tokens": 0}, {"revision": "a", "names": ("b",)}):
        with pytest.raises(InvalidInputError):
            PackOptions(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="the query is empty"):
        pack(folder, " ", 500)


def test_the_line_model_tells_apart_what_words_dont(folder: Path) -> None:
    write_files(
        folder,
        {
            "src/a.py": "def callers(closed):\n    happens = [pool, waiting, closed]\n    return happens\n",
            "src/b.py": "def shut(pool, waiting):\n    for each in waiting:\n        each.cancel()\n    pool.stop()\n",
        },
    )
    with prepare(folder, "Which waiting callers are cancelled when the pool stops?") as prepared:
        scores = {each.path: each.score for each in prepared.pack(3_000).files}
    assert scores["src/b.py"] > scores["src/a.py"]


def test_indexes_are_kept_and_changed_files_are_read_again(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    first, again = (pack(folder, QUERY, 900, cache=cache) for _ in range(2))
    assert again.text == first.text
    assert (first.counts.cached_files, again.counts.cached_files) == (0, again.counts.ranked)
    write_files(folder, {"src/pool.py": POOL + "\n\ndef closed(pool):\n    return pool.closed\n"})
    changed = pack(folder, QUERY, 900, cache=cache)
    assert changed.counts.cached_files == changed.counts.ranked - 1


def test_packing_does_not_block_an_event_loop(folder: Path) -> None:
    async def both() -> PackResult:
        task = asyncio.ensure_future(pack_async(folder, QUERY, 900))
        await asyncio.sleep(0)
        assert not task.done()
        return await task

    assert asyncio.run(both()).text == packed(folder, 900).text


def test_a_result_is_plain_data(folder: Path) -> None:
    result = packed(folder, 500)
    data = json.loads(result.to_json())
    assert data["tokens"] == result.tokens
    assert data["files"][0]["kept_lines"] == list(result.files[0].kept_lines)
    assert "left out" in result.summary()


def test_a_question_that_is_too_long_for_the_model_is_read_in_part(folder: Path) -> None:
    noise = " ".join(f"On machine {n} the disk was full again." for n in range(300))
    question = f"{noise} {QUERY} {noise}"
    result = pack(folder, question, 9_000)
    (note,) = [each for each in result.notes if each.startswith("of the question the model read: ")]
    assert QUERY in note
    assert len(note) < len(question) / 5
    assert "src/pool.py" in {each.path for each in result.files}
    assert result.query == question


def test_of_a_bare_repository_the_last_revision_is_packed(repository: Path) -> None:
    bare = repository.parent / "bare.git"
    git(repository, "clone", "-q", "--bare", ".", str(bare))
    assert packed(bare).text == packed(bare, revision="HEAD").text
    assert "src/pool.py" in {each.path for each in packed(bare).files}


def test_lines_that_hide_something_are_counted_and_stay(tmp_path: Path) -> None:
    code = "".join(
        f"def retry_{k}(x):\n    return x + {k}  # ok{chr(0xE0041) * (k == 2)}\n" for k in range(5)
    )
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    packed = pack(tmp_path, "retry", 2_000)
    assert code in packed.text
    assert packed.unseen == 1
    assert "1 of the lines shown have invisible characters" in packed.notes
