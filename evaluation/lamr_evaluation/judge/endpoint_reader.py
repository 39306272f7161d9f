"""An OpenAI-compatible endpoint as a reader: vLLM, llama.cpp's server, Ollama, LiteLLM and hosted ones speak it.

The official client retries what can be tried again (lost connections, 408, 409, 429, 5xx) and heeds `Retry-After`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lamr_contract.errors import AccessDeniedError, MissingPackageError, ServerError, ServerUnavailableError
from lamr_errors import how_to_install

from lamr_evaluation.judge.asking import SYSTEM, Chat, Question, Reply
from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.readers import RefusedError
from lamr_evaluation.judge.tasks import TASKS, Grades

if TYPE_CHECKING:
    from openai import OpenAI

RETRIES = 6
TIMEOUT_SECONDS = 600.0
_STANDINS: dict[str, str | None] = {"max_tokens": "max_completion_tokens", "temperature": None, "seed": None}
"""What takes a parameter's place with models that refuse it; None leaves it out."""


class EndpointReader:
    """A reader behind `/chat/completions`. Threads may share one."""

    def __init__(  # noqa: PLR0913  # keywords with defaults
        self,
        url: str,
        model: str,
        *,
        api_key: str = "",
        at_once: int = 8,
        retries: int = RETRIES,
        timeout: float = TIMEOUT_SECONDS,
        thinking: int = 0,
    ) -> None:
        """Send nothing yet.

        Args:
            url: what the paths of the interface stand below, such as `http://127.0.0.1:8000/v1`.
            model: the model's name there.
            api_key: proves who asks; local servers want none.
            at_once: how many questions are under way together.
            retries: attempts after the first.
            timeout: seconds for one attempt.
            thinking: tokens that a model may think before it answers, beyond those of the answer.

        Raises:
            MissingPackageError: the official client isn't installed.
        """
        try:
            from openai import OpenAI  # noqa: PLC0415  # of an extra, and heavy
        except ImportError as error:
            raise MissingPackageError(
                f"openai isn't installed: {how_to_install('endpoint')}", package="openai"
            ) from error
        self.name, self.at_once = model, at_once
        self.key: str | None = hashlib.sha256(f"{url}\0{model}".encode()).hexdigest()
        self._url, self._thinking = url, thinking
        self._client: OpenAI = OpenAI(
            base_url=url, api_key=api_key or "none", max_retries=retries, timeout=timeout
        )
        self._options: dict[str, Any] = {"temperature": 0.0, "seed": 0}
        self._limit = "max_tokens"

    def ask(self, item: Item, code: str) -> Chat:
        """See `Reader.ask`."""
        asked = TASKS[item.task].chat(item, code)
        return replace(asked, longest=asked.longest + self._thinking)

    def answer(self, question: Question) -> Reply:
        """See `Reader.answer`.

        Raises:
            AccessDeniedError: the key doesn't open the model.
            ServerUnavailableError: nothing answers.
        """
        import openai  # noqa: PLC0415  # as above

        if not isinstance(question, Chat):
            raise TypeError("this reader writes and doesn't weigh ends")
        try:
            return self._answered(question)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            raise RefusedError(f"{self._url} refuses the question: {_said(error)}") from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise AccessDeniedError(
                f"{self._url} refuses the key ({_said(error)}); set LAMR_READER_KEY", server=self._url
            ) from error
        except openai.NotFoundError as error:
            raise ServerError(
                f"{self._url} doesn't know {self.name} or has no /chat/completions ({_said(error)})",
                server=self._url,
            ) from error
        except openai.APIConnectionError as error:
            raise ServerUnavailableError(
                f"{self._url}: nothing answers ({error.__cause__ or error}); start the server, or correct --reader",
                server=self._url,
            ) from error
        except openai.OpenAIError as error:
            raise ServerError(f"{self._url} fails: {error}", server=self._url) from error

    def _answered(self, question: Chat) -> Reply:
        """Ask, and once more without a parameter that the model refuses."""
        import openai  # noqa: PLC0415

        while True:
            options = {**self._options, self._limit: question.longest}
            try:
                return self._sent(question, options)
            except openai.BadRequestError as error:
                refused = next(
                    (name for name in options if name in _STANDINS and f"'{name}'" in str(error)), None
                )
                if refused is None:
                    raise
                self._options.pop(refused, None)
                self._limit = _STANDINS[refused] or self._limit

    def _sent(self, question: Chat, options: dict[str, Any]) -> Reply:
        done = self._client.chat.completions.create(
            model=self.name,
            messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": question.text}],
            **options,
        )
        if not done.choices:
            raise ServerError(f"{self._url} answers without a choice", server=self._url)
        usage, choice = done.usage, done.choices[0]
        return Reply(
            choice.message.content or "",
            tokens_in=usage.prompt_tokens if usage else 0,
            tokens_out=usage.completion_tokens if usage else 0,
            cut=choice.finish_reason == "length",
        )

    def grade(self, item: Item, reply: Reply) -> Grades:
        """See `Reader.grade`. What some servers show of a model's thinking is no answer."""
        return TASKS[item.task].grade(item, reply.text.rpartition("</think>")[2])

    def close(self) -> None:
        """Close the connections. Closing twice is harmless."""
        self._client.close()


def _said(error: Exception) -> str:
    body = getattr(error, "body", None)
    return str(body.get("message", body)) if isinstance(body, dict) else str(error)
