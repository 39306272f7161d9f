"""An OpenAI-compatible endpoint as a reader: vLLM, llama.cpp's server, Ollama, LiteLLM and hosted ones speak it."""

from __future__ import annotations

import hashlib
from typing import Any

from lamr_base.errors import ServerError
from lamr_client.endpoint import RETRIES, Endpoint

from lamr_evaluation.judge.asking import SYSTEM, Chat, Question, Reply
from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.readers import RefusedError
from lamr_evaluation.judge.tasks import TASKS, Grades

KEY_FROM = "LAMR_READER_KEY"
"""The environment's variable with the key. It isn't that of lamr's servers, whose key is no reader's business."""
_REFUSALS = (400, 413, 422)
_STANDINS: dict[str, str | None] = {"max_tokens": "max_completion_tokens", "temperature": None, "seed": None}
"""What takes a parameter's place with models that refuse it; None leaves it out."""


class EndpointReader:
    """A reader behind `/chat/completions`. Threads may share one."""

    at_once = 8

    def __init__(self, url: str, model: str, *, api_key: str = "", retries: int = RETRIES) -> None:
        """Send nothing yet.

        Raises:
            InvalidInputError, MissingPackageError: see `Endpoint`.
        """
        self.name = model
        self.key: str | None = hashlib.sha256(f"{url}\0{model}".encode()).hexdigest()
        self._endpoint = Endpoint(url, api_key or None, key_from=KEY_FROM)
        self._retries = retries
        self._options: dict[str, Any] = {"temperature": 0.0, "seed": 0}
        self._limit = "max_tokens"

    def ask(self, item: Item, code: str) -> Chat:
        """See `Reader.ask`."""
        return TASKS[item.task].chat(item, code)

    def answer(self, question: Question) -> Reply:
        """See `Reader.answer`. What a model says of a parameter that it refuses is heeded from then on."""
        if not isinstance(question, Chat):
            raise TypeError("this reader writes and doesn't weigh ends")
        while True:
            options = {**self._options, self._limit: question.longest}
            try:
                return self._sent(question, options)
            except ServerError as error:
                if getattr(error.__cause__, "status_code", None) not in _REFUSALS:
                    raise
                refused = next(
                    (each for each in options if each in _STANDINS and f"'{each}'" in str(error)), None
                )
                if refused is None:
                    raise RefusedError(str(error)) from error
                self._options.pop(refused, None)
                self._limit = _STANDINS[refused] or self._limit

    def _sent(self, question: Chat, options: dict[str, Any]) -> Reply:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question.text}]
        body = {"model": self.name, "messages": messages, **options}
        answer = self._endpoint.ask(
            f"{self._endpoint.base.rstrip('/')}/chat/completions", body, self._retries
        )
        try:
            choice, usage = answer["choices"][0], answer.get("usage") or {}
            return Reply(
                choice["message"].get("content") or "",
                tokens_in=int(usage.get("prompt_tokens") or 0),
                tokens_out=int(usage.get("completion_tokens") or 0),
                cut=choice.get("finish_reason") == "length",
            )
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise ServerError(
                f"{self._endpoint.base} answers, but not as /chat/completions does ({error!r}); correct the address",
                server=self._endpoint.base,
            ) from error

    def grade(self, item: Item, reply: Reply) -> Grades:
        """See `Reader.grade`. What some servers show of a model's thinking is no answer."""
        return TASKS[item.task].grade(item, reply.text.rpartition("</think>")[2])

    def close(self) -> None:
        """Close the connections. Closing twice is harmless."""
        self._endpoint.close()
