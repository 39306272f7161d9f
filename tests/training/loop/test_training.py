"""The tokenizer, examples, batches, loss and loop, on two random layers."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lamr_contract.local_model import LocalModel
from lamr_contract.scoring import Scoring
from lamr_evaluation.records import Record
from lamr_export import export_repository, save_checkpoint
from lamr_export.model import LamrModel
from lamr_postprocess.lines import line_spans
from lamr_training.corpus.build import make_records
from lamr_training.corpus.settings import CorpusSettings
from lamr_training.errors import RunError
from lamr_training.labels.settings import LabelSettings
from lamr_training.loop.batches import batch_plan, epochs, make_batch
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.examples import encode_record, make_examples, token_lines
from lamr_training.loop.losses import SEGMENT, LossWeights, lamr_loss, listwise_loss, ranking_loss
from lamr_training.loop.optimization import rate_factor
from lamr_training.loop.run_folder import STATE
from lamr_training.loop.settings import TrainingSettings
from lamr_training.loop.trainer import forward, train
from lamr_training.loop.validation import validate
from lamr_training.model.vocabulary import Vocabulary
from lamr_training.recipes.presets import PRESETS
from lamr_training.recipes.scoring_fit import START, compare, fit_scoring, score_files, selection

from tests.training.samples import CACHE, encoder, files, tiny_model

SETTINGS = replace(
    PRESETS["tiny"].settings, steps=16, tokens=2048, learning_rate=1e-3, head_rate=3e-3, seed=1
)


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return make_records(files(), CorpusSettings(min_lines=10, queries_per_file=8))["train"]


@pytest.fixture(scope="module")
def data(words: Vocabulary, records: list[Record]) -> ExampleSet:
    model = tiny_model(words)
    assert model.lexical is not None
    return ExampleSet.of(list(make_examples(records, encoder(words, model), model.lexical.rarity.numpy())))


def texts(words: Vocabulary, text: str) -> list[tuple[str, str]]:
    found = words.tokenizer.encode(text, add_special_tokens=False)
    return [(text[a:b], token) for (a, b), token in zip(found.offsets, found.tokens, strict=True)]


def test_lines_with_their_indent_are_one_token(words: Vocabulary) -> None:
    found = texts(words, "if x:\n        y()\n\tz\r\n    w")
    assert [(s, t) for s, t in found if "\n" in s] == [(s, s) for s in ("\n        ", "\n\t", "\r\n    ")]
    assert ("()", "()") in found


def test_identifiers_are_split_and_offsets_are_those_of_the_text(words: Vocabulary) -> None:
    text = "loadFileCache(DEFAULT_TIMEOUTS, é)"
    found = texts(words, text)
    assert ("load", "load") in found
    assert ("File", "file") in found
    encoding = words.tokenizer.encode(text, add_special_tokens=False)
    last = text.index("TIMEOUTS"), text.index(",")
    pieces = [
        token.removeprefix("##")
        for (a, b), token in zip(encoding.offsets, encoding.tokens, strict=True)
        if last[0] <= a and b <= last[1]
    ]
    assert "".join(pieces) == "timeout"
    assert all(s.strip() == s and s and "_" not in s for s, _ in found)
    assert encoding.offsets == sorted(encoding.offsets)


def test_special_tokens_in_text_are_not_special(words: Vocabulary) -> None:
    model = tiny_model(words)
    ids = encoder(words, model).encode_query("a [SEP] b")
    assert words.tokenizer.token_to_id("[SEP]") not in ids.tolist()


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_a_token_that_opens_a_line_belongs_to_it(end: str) -> None:
    text = f"a{end}    b{end}{end}c"
    offsets = np.array([[0, 1], [1, 6], [6, 7], [7, 8], [9, 10]])
    assert token_lines(offsets, line_spans(text)).tolist() == [0, 1, 1, 1, 3]
    assert token_lines(np.zeros((0, 2), np.int64), line_spans(text)).tolist() == []


def test_form_feeds_and_separators_end_no_line() -> None:
    text = "a\fb\u2028c\x1cd\r\ne"
    offsets = np.array([[n, n + 1] for n in range(len(text))])
    assert token_lines(offsets, line_spans(text)).tolist() == [0] * 9 + [1]


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_tokens_have_the_labels_of_their_lines_whatever_ends_these(words: Vocabulary, end: str) -> None:
    coder = encoder(words, tiny_model(words))
    kept = next(n for n, line in enumerate(CACHE.splitlines(), 1) if "raise CacheError" in line)
    record = Record("when is an answer too old?", CACHE.replace("\n", end), (kept,))
    encoded = encode_record(record, coder, LabelSettings())
    assert encoded is not None
    _, offsets = coder.encode_document(record.code)
    semantic = offsets[encoded.rubrics[:, 0] == 1]
    assert (
        record.code[semantic[:, 0].min() : semantic[:, 1].max()].strip()
        == CACHE.splitlines()[kept - 1].strip()
    )


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
    made = list(make_examples([record], coder, model.lexical.rarity.numpy()))  # type: ignore[union-attr]
    assert made
    assert all(example.input_ids.tolist() in sent for example in made)
    assert any(example.relevance for example in made)
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


def test_every_term_of_the_loss_counts(words: Vocabulary, data: ExampleSet) -> None:
    model = tiny_model(words).eval()
    batch = make_batch(data, np.arange(4))
    output, relevance = forward(model, batch)

    def loss(weights: LossWeights) -> float:
        terms = lamr_loss(
            output,
            relevance,
            model.heads,
            batch.labels,
            batch.relevance,
            batch.groups,
            batch.code_cu_seqlens,
            weights,
            batch.evidence,
        )
        return float(terms.total.detach())

    base = loss(LossWeights())
    none = LossWeights(rubric=0.0, relevance=0.0, balance=0.0)
    fused, mse = loss(none), loss(replace(none, relevance=1.0)) - loss(none)
    first = loss(replace(none, rubric=1.0, rubrics=(1.0, 0.0)))
    second = loss(replace(none, rubric=1.0, rubrics=(0.0, 1.0)))
    ranks = loss(replace(none, listwise=1.0)) - loss(none)
    assert ranks == pytest.approx(
        float(listwise_loss(relevance, batch.relevance > 0, batch.relevance <= 0, batch.groups).detach()),
        abs=1e-5,
    )
    segments = loss(replace(none, ranking=1.0)) - loss(none)
    odds = output.emissions[:, 0, 1] - output.emissions[:, 0, 0] + 4.0 * batch.evidence
    own = ranking_loss(odds, batch.labels[:, 0], batch.groups, batch.code_cu_seqlens)
    assert segments == pytest.approx(float(own.detach()), abs=1e-5)
    assert segments > 0
    entropy = loss(none) - loss(replace(none, balance=1.0))
    assert 0 < entropy <= np.log(2) + 1e-6
    assert base == pytest.approx(
        0.4 * fused + 0.6 * (first + 0.7 * second) + 0.05 * mse - 0.002 * entropy, abs=1e-5
    )


def test_a_chunk_with_evidence_competes_with_those_of_its_file() -> None:
    scores = torch.tensor([2.0, -1.0, 0.5, 7.0, 3.0], requires_grad=True)
    wanted, groups = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.6]) > 0, torch.tensor([0, 0, 0, 1, 2])
    found = listwise_loss(scores, wanted, ~wanted, groups)
    expected = -np.log(np.exp(2.0) / (np.exp(2.0) + np.exp(-1.0) + np.exp(0.5)))
    assert found.item() == pytest.approx(expected, abs=1e-6)
    found.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    assert scores.grad[0] < 0 < scores.grad[2]
    assert scores.grad[3:].abs().max() == 0, "nothing to compete with"
    assert listwise_loss(scores, wanted, ~wanted, torch.arange(5)).item() == 0


def test_segments_of_evidence_compete_with_those_of_their_files_chunks() -> None:
    lengths = [SEGMENT + 3, 2 * SEGMENT, SEGMENT]
    cu_seqlens = torch.tensor(np.cumsum([0, *lengths]), dtype=torch.int32)
    odds = torch.zeros(sum(lengths))
    labels = torch.zeros(sum(lengths), dtype=torch.int64)
    labels[:SEGMENT] = 1
    labels[lengths[0] : lengths[0] + 2] = 1  # too few to be evidence, too many to be none
    odds[:SEGMENT] = 2.0
    odds[SEGMENT : lengths[0]] = -1.0
    odds[lengths[0] + SEGMENT : lengths[0] + lengths[1]] = 0.5
    odds[-SEGMENT:] = 9.0
    found = ranking_loss(odds, labels, torch.tensor([0, 0, 1]), cu_seqlens)
    expected = -np.log(np.exp(2.0) / (np.exp(2.0) + np.exp(-1.0) + np.exp(0.5)))
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_bf16_comes_close_to_float32(words: Vocabulary, data: ExampleSet) -> None:
    model = tiny_model(words).eval()
    batch = make_batch(data, np.arange(4))
    with torch.no_grad():
        exact, half = forward(model, batch), forward(model, batch, bf16=True)
    assert half[0].emissions.dtype == half[1].dtype == torch.float32
    assert 0 < (half[0].emissions - exact[0].emissions).abs().max() < 0.1


def test_the_rate_rises_stays_and_falls() -> None:
    settings = TrainingSettings(steps=100, warmup=0.1, decay=0.5)
    rates = [rate_factor(step, settings) for step in range(1, 101)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9:50] == [1.0] * 41
    assert rates[-1] == pytest.approx(0.02)
    assert all(a > b for a, b in itertools.pairwise(rates[50:]))


def mean_loss(model: LamrModel, data: ExampleSet) -> float:
    """Of all chunks, without dropout."""
    batch = make_batch(data, np.arange(len(data)))
    with torch.no_grad():
        output, relevance = forward(model.eval(), batch)
        terms = lamr_loss(
            output,
            relevance,
            model.heads,
            batch.labels,
            batch.relevance,
            batch.groups,
            batch.code_cu_seqlens,
            SETTINGS.loss,
            batch.evidence,
        )
    return float(terms.total)


def test_training_lowers_the_loss_and_resumes_exactly(
    tmp_path: Path, words: Vocabulary, data: ExampleSet
) -> None:
    whole = train(tiny_model(words), data, tmp_path / "whole", SETTINGS, validation=data)
    train(tiny_model(words), data, tmp_path / "parts", SETTINGS, stop_after=5)
    resumed = train(tiny_model(words, seed=9), data, tmp_path / "parts", SETTINGS)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name
    rows = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    again = [json.loads(line) for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
    assert losses == [row["loss"] for row in again if "loss" in row]
    assert any("area" in row for row in rows)
    # On the same chunks: the loss of single batches depends on which chunks they hold.
    assert mean_loss(whole, data) < 0.8 * mean_loss(tiny_model(words), data)


def test_a_run_leaves_the_average_of_its_steps(tmp_path: Path, words: Vocabulary, data: ExampleSet) -> None:
    settings = replace(SETTINGS, steps=4, average=0.6, warmup=0.0)
    steps = [
        train(
            tiny_model(words), data, tmp_path / str(n), replace(SETTINGS, warmup=0.0, decay=0.0), stop_after=n
        )
        for n in range(1, 5)
    ]
    settings = replace(settings, decay=0.0)
    train(tiny_model(words), data, tmp_path / "run", settings, stop_after=2)
    left = train(tiny_model(words), data, tmp_path / "run", settings).state_dict()
    name = "heads.hidden.weight"
    first, second, third, fourth = (model.state_dict()[name] for model in steps)
    # Shares of the mean so far are 1/n until that is less than 0.4.
    mean = (first + second) / 2
    mean = 0.6 * mean + 0.4 * third
    mean = 0.6 * mean + 0.4 * fourth
    assert torch.allclose(left[name], mean, atol=1e-6)
    assert not torch.allclose(left[name], fourth, atol=1e-6)
    saved = torch.load(tmp_path / "run" / STATE, weights_only=True)
    assert torch.equal(saved["average"][name], left[name])
    assert torch.equal(saved["model"][name], fourth)


def test_a_failed_checkpoint_leaves_the_last_one(
    tmp_path: Path, words: Vocabulary, data: ExampleSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tiny_model(words), data, tmp_path, SETTINGS, stop_after=2)
    before = (tmp_path / STATE).read_bytes()

    def full(state: object, stream: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(
        RunError, match=r"step 3 couldn't be written \(No space left on device\); the one before"
    ):
        train(tiny_model(words), data, tmp_path, SETTINGS, stop_after=3)
    assert (tmp_path / STATE).read_bytes() == before
    assert not (tmp_path / f"{STATE}.part").exists()


def test_runs_that_cannot_go_on_say_why(tmp_path: Path, words: Vocabulary, data: ExampleSet) -> None:
    with pytest.raises(RunError, match="no training examples"):
        train(tiny_model(words), ExampleSet.of([]), tmp_path, SETTINGS)
    train(tiny_model(words), data, tmp_path, SETTINGS, stop_after=1)
    with pytest.raises(RunError, match="batch order"):
        train(tiny_model(words), data, tmp_path, replace(SETTINGS, seed=5))


def test_calibration_keeps_the_share_it_is_asked_for(
    tmp_path: Path, words: Vocabulary, records: list[Record], data: ExampleSet
) -> None:
    model = tiny_model(words).eval()
    words.tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_checkpoint(model, tmp_path / "checkpoint", tmp_path / "tokenizer.json")
    export_repository(tmp_path / "checkpoint", tmp_path / "repository")
    ask = LocalModel(tmp_path / "repository").infer_many
    found = score_files(ask, encoder(words, model), records[:12])
    rubrics = model.config.rubrics
    scoring = fit_scoring(found, rubrics, kept=0.3)
    assert scoring.kind == "relative"
    assert selection(found, scoring, rubrics, 0.4)[1] == pytest.approx(0.3, abs=0.08)
    assert compare(found, scoring, rubrics, 0.4).kept <= 0.38, "repair only adds"
    paper = compare(found, Scoring(), rubrics, 0.4)
    assert 0 <= paper.area <= 1
    fitted, before = compare(found, scoring, rubrics, 0.4), compare(found, START, rubrics, 0.4)
    assert fitted.area + fitted.recall_25 >= before.area + before.recall_25 - 0.01
    longer = Record("why " * 400, records[0].code, (1,))
    assert not score_files(ask, encoder(words, model), [longer]), "the query fills the window"
    metrics = validate(model, data, 512)
    assert 0 <= metrics.recall_25 <= metrics.recall_50 <= 1
