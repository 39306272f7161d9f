"""The shipped model can be trained on: what comes back answers as the shipped one does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lamr_client import Pruner
from lamr_export import export_repository
from lamr_export.checkpoint import save_checkpoint
from lamr_export.verify import standard_texts
from lamr_model.encoder.local_model import LocalModel
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.encoding import PromptEncoder
from lamr_model.model_io import ChunkRequest
from lamr_model.names import TOKENIZER_FILE
from lamr_model.spec import bundled_repository, client_files
from lamr_training.errors import RunError
from lamr_training.recipes.fine_tune import load_served

from tests.tiny import IN_FULL
from tests.training.samples import CACHE


def test_the_shipped_model_answers_as_before() -> None:
    repository = bundled_repository()
    model, tokenizer = load_served(repository)
    spec = PromptEncoder.from_repository(repository).spec
    encoder = PromptEncoder(tokenizer, model.config.spec(spec.tokenizer_sha256, spec.weights_sha256))
    assert encoder.spec == spec
    ids, offsets = encoder.encode_document(CACHE)
    [chunk, *_] = encoder.chunk(encoder.encode_query("when is an answer too old?"), ids, offsets, CACHE)
    request = ChunkRequest(chunk.input_ids, chunk.document_span, want_rubrics=True)
    fused, _, relevance = LocalModel(repository).encode([request])
    with torch.no_grad():
        feed = {name: torch.from_numpy(value) for name, value in encoder_feed([chunk.input_ids]).items()}
        states, probability = model(**feed)
    first, last = chunk.document_span
    assert np.corrcoef(fused.ravel(), states[first:last].numpy().ravel())[0, 1] > 0.98
    assert float(probability) == pytest.approx(float(relevance[0]), abs=0.05)
    weights = model.decoder_weights()
    served = LocalModel(repository, weights=weights).run([request])[0]
    np.testing.assert_array_equal(served.keep_prob, LocalModel(repository).run([request])[0].keep_prob)


def test_it_can_be_exported_in_fp32_although_it_amplifies_rounding(tmp_path: Path) -> None:
    model, _ = load_served(bundled_repository())
    save_checkpoint(model, tmp_path / "checkpoint", client_files(bundled_repository()) / TOKENIZER_FILE)
    texts = standard_texts()[::4]
    report = export_repository(tmp_path / "checkpoint", tmp_path / "repository", "fp32", texts=texts)
    assert report.verification.decisions > 1000
    assert report.verification.fused_relative < 5e-5
    assert report.verification.changed_percent == 0
    question = "when is an answer too old?"
    with Pruner() as shipped, Pruner(model=tmp_path / "repository") as floats:
        kept = [
            pruner.prune(question, CACHE, path="cache.py", **IN_FULL).kept_lines
            for pruner in (shipped, floats)
        ]
    assert kept[0] == kept[1]


def test_another_architecture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    narrower = replace(load_served(bundled_repository())[0].config, fusion_width=192)
    monkeypatch.setattr("lamr_training.recipes.fine_tune.mini_config", lambda _: narrower)
    with pytest.raises(RunError, match=r"can't be trained on \(fusion_input"):
        load_served(bundled_repository())
