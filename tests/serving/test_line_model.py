"""The Triton model that scores lines, on the shipped weights: with stand-ins for Triton's objects, and a real one."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from lamr_client import Pruner
from lamr_contract.names import (
    LINE_MODEL,
    LINE_OUTPUTS,
    PROGRAM_FILE,
    config_file,
    version_folder,
)
from lamr_contract.spec import bundled_repository, client_files, load_spec
from lamr_contract.stalls import StallWatch
from lamr_export.triton import write_line_model
from lamr_serving import ModelRepositoryError, ServerOptions, ServerStartError, TritonServer, server_status
from lamr_serving.repository_check import check_repository
from tritonclient.grpc import InferenceServerClient, InferInput
from tritonclient.utils import InferenceServerException

from tests.tiny import program

QUERY = "which function computes the area?"
TEXTS = {
    "area.py": program(30),
    "area.go": "package a\n\nfunc area(w, h int) int {\n\treturn w * h\n}\n" * 9,
    "notes.txt": "the area is width times height\r\n\r\nnothing else\r\n" * 5,
    "": "".join(f"{number}\t{line}\n" for number, line in enumerate(program(9).splitlines(), 41)),
}
MOST_BYTES = 20_000


@pytest.fixture(scope="module")
def expected():
    """What a client gives at `instant`, by path: scores, relevance and threshold."""
    with Pruner() as pruner:
        yield {
            path: pruner.prune(QUERY, code, path=path or None, task="and its width", effort="instant")
            for path, code in TEXTS.items()
        }


def same(outputs: dict[str, np.ndarray], result) -> None:
    line_prob, relevance, threshold = (outputs[name] for name in LINE_OUTPUTS)
    np.testing.assert_allclose(line_prob[0], result.line_scores, rtol=0, atol=1e-6)
    assert relevance[0, 0] == pytest.approx(result.relevance, abs=1e-6)
    assert threshold[0, 0] == pytest.approx(result.threshold, abs=1e-6)
    assert {each.dtype for each in outputs.values()} == {np.dtype(np.float32)}


def load(fake_triton, monkeypatch, repository: Path):
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake_triton)
    monkeypatch.setattr(StallWatch, "start", lambda _: None)  # it would end the tests' own process
    path = version_folder(repository, LINE_MODEL) / PROGRAM_FILE
    spec = importlib.util.spec_from_file_location("line_model_program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.TritonPythonModel()
    parameters = {"lamr_fingerprint": "abcd", "max_text_bytes": str(MOST_BYTES)}
    config = {"parameters": {key: {"string_value": value} for key, value in parameters.items()}}
    model.initialize(
        {
            "model_repository": str(repository / LINE_MODEL),
            "model_version": "1",
            "model_config": json.dumps(config),
        }
    )
    return model


@pytest.fixture
def model(fake_triton, monkeypatch):
    return load(fake_triton, monkeypatch, bundled_repository())


def texts(**given: str | bytes) -> dict[str, np.ndarray]:
    return {
        name: np.array([[text if isinstance(text, bytes) else text.encode()]], np.object_)
        for name, text in given.items()
    }


def test_lines_are_scored_as_by_a_client(model, fake_triton, expected) -> None:
    requests = [
        fake_triton.Request(texts(query=QUERY, code=code, path=path, task="and its width"), LINE_OUTPUTS)
        for path, code in TEXTS.items()
    ]
    for response, path in zip(model.execute(requests), TEXTS, strict=True):
        same(response.tensors, expected[path])


def test_what_is_left_out_or_not_asked_for(model, fake_triton) -> None:
    request = fake_triton.Request(texts(query=QUERY, code="area = 1\n"), LINE_OUTPUTS[:1])
    (response,) = model.execute([request])
    assert {name: each.shape for name, each in response.tensors.items()} == {LINE_OUTPUTS[0]: (1, 1)}


@pytest.mark.parametrize(
    ("inputs", "parameters", "message"),
    [
        (texts(query=" \n", code="area = 1"), "", "query is empty"),
        (texts(query=QUERY, code=" \n\n"), "", "code is empty"),
        (texts(query=QUERY), "", "code is empty"),
        (texts(query=QUERY, code=b"\xff"), "", "code isn't UTF-8: invalid start byte at byte 0"),
        (texts(query=QUERY, code=b"a\0b"), "", "code has a NUL"),
        (texts(query=QUERY, code="a" * MOST_BYTES), "", f"and {MOST_BYTES} are allowed"),
        (texts(query=QUERY, code="é" * (MOST_BYTES // 2)), "", f"and {MOST_BYTES} are allowed"),
        ({"query": np.array([[b"a"], [b"b"]], np.object_)}, "", r"query must have shape \[1, 1\]"),
        (texts(query=QUERY, code="a"), '{"lamr_fingerprint":"dcba"}', "is abcd, but the request is for dcba"),
    ],
)
def test_a_bad_request_fails_alone(model, fake_triton, inputs, parameters, message) -> None:
    good = texts(query=QUERY, code=program(2))
    requests = [
        fake_triton.Request(each, LINE_OUTPUTS, said) for each, said in ((inputs, parameters), (good, ""))
    ]
    refused, answered = model.execute(requests)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(refused.error.message())
    assert answered.error is None
    assert answered.tensors[LINE_OUTPUTS[0]].shape == (1, 9)


def test_without_weights_the_model_isnt_loaded(fake_triton, monkeypatch, tmp_path) -> None:
    repository = shutil.copytree(bundled_repository(), tmp_path / "repository")
    (client_files(repository) / "scoring.npz").unlink()
    with pytest.raises(fake_triton.TritonModelException, match=r"scoring\.npz"):
        load(fake_triton, monkeypatch, repository)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "1/model.py").unlink(), r"lamr_lines/1/model\.py"),
        (lambda folder: (folder / "config.pbtxt").unlink(), r"lamr_lines/config\.pbtxt"),
        (
            lambda folder: config_file(folder.parent, LINE_MODEL).write_text(
                'name: "lamr_lines"\nbackend: "python"\n'
            ),
            r"lamr_lines/config\.pbtxt carries the fingerprint \(none\)",
        ),
    ],
)
def test_a_damaged_line_model_is_named(tmp_path, spoil, message) -> None:
    repository = shutil.copytree(bundled_repository(), tmp_path / "repository")
    spoil(repository / LINE_MODEL)
    with pytest.raises(ModelRepositoryError, match=message):
        check_repository(repository)


def test_a_repository_without_one_is_served_without(tmp_path) -> None:
    repository = shutil.copytree(bundled_repository(), tmp_path / "repository")
    shutil.rmtree(repository / LINE_MODEL)
    assert check_repository(repository) == load_spec(repository)
    with pytest.raises(ServerStartError, match=f"no {LINE_MODEL}"):
        TritonServer(repository, ServerOptions(lines=True)).start()
    write_line_model(repository, load_spec(repository))
    for file in (config_file(Path(), LINE_MODEL), version_folder(Path(), LINE_MODEL) / PROGRAM_FILE):
        assert (repository / file).read_bytes() == (bundled_repository() / file).read_bytes()


@pytest.mark.server
def test_a_real_server(expected) -> None:
    def ask(client, **given: str | bytes) -> dict[str, np.ndarray]:
        inputs = []
        for name, values in texts(**given).items():
            inputs.append(InferInput(name, values.shape, "BYTES"))
            inputs[-1].set_data_from_numpy(values)
        answer = client.infer(LINE_MODEL, inputs)
        return {name: answer.as_numpy(name) for name in LINE_OUTPUTS}

    with (
        TritonServer(bundled_repository(), ServerOptions(threads=1, lines=True)) as server,
        InferenceServerClient(server.addresses.grpc) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        assert LINE_MODEL in {each.name for each in server.info.models}
        cases = [*TEXTS.items()] * 6
        answers = pool.map(
            lambda case: ask(client, query=QUERY, code=case[1], path=case[0], task="and its width"), cases
        )
        for outputs, (path, _) in zip(answers, cases, strict=True):
            same(outputs, expected[path])
        alone = ask(client, query=QUERY, code=TEXTS["area.py"])  # path and task may be left out
        assert alone[LINE_OUTPUTS[0]].shape == (1, len(expected["area.py"].line_scores))
        for wrong in ({"query": "", "code": "a"}, {"query": "a", "code": "a" * (1 << 20)}):
            with pytest.raises(InferenceServerException, match=LINE_MODEL):
                ask(client, **wrong)
        with Pruner(server.addresses.grpc) as pruner:
            assert str(pruner.prune(QUERY, program(1), effort="full").effort) == "the one chunk"
        (counted,) = (each for each in server_status(server.addresses.grpc).models if each.name == LINE_MODEL)
        assert counted.requests >= len(cases)


@pytest.mark.server
def test_nobody_who_doesnt_ask_for_it_has_its_process() -> None:
    with TritonServer(bundled_repository(), ServerOptions(threads=1)) as server:
        assert LINE_MODEL not in {each.name for each in server.info.models}
