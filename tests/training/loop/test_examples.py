"""Examples are chunks as a client sends them, with the labels of their lines; batches lose none of them."""

from pathlib import Path

import numpy as np
import pytest
from lamr_evaluation.records import Record
from lamr_training.backbone import Vocabulary
from lamr_training.loop.examples import (
    ExampleSet,
    batch_plan,
    encode_record,
    epochs,
    make_batch,
    make_examples,
    two_rubrics,
)

from tests.training.samples import CACHE, encoder, tiny_model


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_tokens_have_the_labels_of_their_lines_whatever_ends_these(words: Vocabulary, end: str) -> None:
    coder = encoder(words, tiny_model(words))
    kept = next(n for n, line in enumerate(CACHE.splitlines(), 1) if "raise CacheError" in line)
    record = Record("when is an answer too old?", CACHE.replace("\n", end), (kept,))
    encoded = encode_record(record, coder)
    _, offsets = coder.encode_document(record.code)
    semantic = offsets[encoded.rubrics[:, 0] == 1]
    assert (
        record.code[semantic[:, 0].min() : semantic[:, 1].max()].strip()
        == CACHE.splitlines()[kept - 1].strip()
    )


def test_a_frame_depends_on_the_gold_lines_in_any_language() -> None:
    code = "func area(w int) int {\n\tprepare()\n\treturn w\n}\n"
    record = Record("what is returned?", code, (3,), frame=(1, 4))
    assert two_rubrics(record).tolist() == [[0, 1], [0, 0], [1, 0], [0, 1]]


def test_a_long_query_leaves_room_for_code(words: Vocabulary) -> None:
    coder = encoder(words, tiny_model(words))
    record = Record("why " * 400, CACHE, (3,), task="because " * 400)
    window = coder.spec.chunking.window
    assert all(len(chunk.input_ids) <= window for chunk in encode_record(record, coder).chunks)


def test_examples_are_what_the_client_sends(
    words: Vocabulary, records: list[Record], data: ExampleSet
) -> None:
    model = tiny_model(words)
    coder = encoder(words, model)
    record = next(r for r in records if r.score)
    ids, offsets = coder.encode_document(record.code)
    sent = [
        c.input_ids.tolist() for c in coder.chunk(coder.encode_query(record.query), ids, offsets, record.code)
    ]
    examples = list(make_examples([record], coder, model.lexical.rarity.numpy()))  # type: ignore[union-attr]
    assert examples
    assert all(example.input_ids.tolist() in sent for example in examples)
    assert any(example.relevance for example in examples)
    assert 0.2 < (data.relevance > 0).mean() < 1.0


def test_example_sets_survive_the_disk(tmp_path: Path, data: ExampleSet) -> None:
    data.save(tmp_path / "set.npz")
    back = ExampleSet.load(tmp_path / "set.npz")
    assert (back.ids == data.ids).all()
    assert (back.spans == data.spans).all()
    assert (back.rubrics == data.rubrics).all()


def test_batches_hold_every_example_once_within_the_budget(data: ExampleSet) -> None:
    plan = batch_plan(data.lengths, data.groups, 1600, seed=4)
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(data)))
    assert all(data.lengths[b].sum() <= 1600 or len(set(data.groups[b])) == 1 for b in plan)
    held = [set(data.groups[b].tolist()) for b in plan]
    assert len(set().union(*held)) == sum(map(len, held)), "a group's chunks compete in one batch"
    stream, later = epochs(data, 1600, 4), epochs(data, 1600, 4, skip=len(plan) + 1)
    first = [next(stream) for _ in range(len(plan) + 3)]
    assert (next(later) == first[len(plan) + 1]).all()


def test_labels_lie_on_code_tokens(data: ExampleSet) -> None:
    batch = make_batch(data, np.arange(3))
    assert batch.labels.shape == (len(batch.code), 2)
    assert int(batch.labels.sum()) == int(data.rubrics[: data.starts[3]].sum())
    assert int(batch.code_cu_seqlens[-1]) == len(batch.code)
