"""Batches keep to the budget and lose nothing."""

import numpy as np
from lamr_training.loop.examples import ExampleSet, batch_plan, epochs, make_batch


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
