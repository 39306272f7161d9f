"""A scripted endpoint on loopback that speaks as vLLM, SGLang, llama.cpp or Ollama do; its numbers are a model's."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from lamr_export import TorchScorer

from tests.http_server import Reply, Request, answering

MODEL = "tiny"
SPLIT = 200
"""A token of which the llama.cpp of this script tells nothing, as of one that ends within a character."""


class Script:
    """What the endpoint answers.

    Attributes:
        kind: `prompt_logprobs`, `echo`, `llama.cpp`, or `none` for a host that tells of no prompt.
        models: what it lists.
        key: the key that it wants.
        failures: status codes of the next answers.
        spoil: changes an answer before it is sent.
        asked: path and body of each request."""

    def __init__(self, scorer: TorchScorer, kind: str) -> None:
        self.scorer, self.kind = scorer, kind
        self.models: list[dict[str, Any]] = [{"id": MODEL}]
        self.key: str | None = None
        self.failures: list[int] = []
        self.spoil = lambda answer: answer
        self.asked: list[tuple[str, Any]] = []

    def answer(self, path: str, body: Any) -> Any:
        """The JSON for a request; None where there is no such path."""
        if path == "/v1/models":
            window = {} if self.kind == "llama.cpp" else {"max_model_len": self.scorer.max_tokens}
            return {"data": [each | window for each in self.models]}
        if path == "/props" and self.kind == "llama.cpp":
            return {"default_generation_settings": {"n_ctx": 1000}}
        if path == "/tokenize":
            text = body["content" if self.kind == "llama.cpp" else "prompt"]
            return {"tokens": self.scorer.encode(text).tolist()}
        if path == "/completion" and self.kind == "llama.cpp":
            return {"completion_probabilities": self._generated(body)}
        if path == "/v1/completions":
            return {"choices": [self._choice(*each, body) for each in enumerate(body["prompt"])][::-1]}
        return None

    def _choice(self, index: int, ids: list[int], body: Any) -> dict[str, Any]:
        values = self.scorer.log_probs([np.array(ids)])[0].tolist()
        choice: dict[str, Any] = {"index": index, "text": "x", "logprobs": None}
        if self.kind == "prompt_logprobs" and "prompt_logprobs" in body:
            told = [{str(token): {"logprob": value}} for token, value in zip(ids, values, strict=True)]
            choice["prompt_logprobs"] = [None, *told[1:]]
        if "echo" in body:  # llama.cpp and others ignore it, and tell of what they generate
            whole = [None, *values[1:], -1.0] if self.kind == "echo" else [-1.0]
            choice["logprobs"] = {"token_logprobs": whole}
        return choice

    def _generated(self, body: Any) -> list[dict[str, Any]]:
        before, ((token, bias),) = body["prompt"], body["logit_bias"]
        assert bias > 1e5
        if token == SPLIT and len(before) > 1:
            return []

        def told(one: int) -> dict[str, Any]:
            return {"id": one, "logprob": float(self.scorer.log_probs([np.array([*before, one])])[0][-1])}

        among = range(min(body["n_probs"], self.scorer.model.vocabulary)) if body["n_probs"] > 1 else ()
        return [told(token) | {"top_logprobs": [told(one) for one in among]}]


@contextlib.contextmanager
def serving(script: Script) -> Iterator[str]:
    """Give the address of a server that follows the script."""

    def reply(request: Request) -> Reply:
        body = json.loads(request.body) if request.body else None
        script.asked.append((request.path, body))
        status, answer = 200, None
        if script.key is not None and request.headers.get("Authorization") != f"Bearer {script.key}":
            status = 401
        elif script.failures:
            status = script.failures.pop(0)
        elif (answer := script.answer(request.path, body)) is None:
            status = 404
        told = script.spoil(answer) if status == 200 else {"error": {"message": "no"}}
        data = told if isinstance(told, bytes) else json.dumps(told).encode()
        return status, data, {"Content-Type": "application/json", "retry-after-ms": "1"}

    with answering(reply) as address:
        yield address + "/v1"
