"""Who answers: an endpoint that chats, or a causal model in this process that weighs ends.

vLLM, llama.cpp's server, Ollama, LiteLLM and hosted services speak the endpoint's protocol. A causal language model
weighs the ends that the truth and its rivals are, and writes nothing, so a model of any size answers on any machine.
Small models have small windows: a question that doesn't fit is refused."""

import hashlib
import threading
from typing import Any, Protocol

from lamr_base.errors import InvalidInputError, ServerError
from lamr_client.endpoint import RETRIES, Endpoint
from lamr_model.perplexity.causal_scorer import CausalScorer
from lamr_model.perplexity.continuations import Ask, continuations

from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.tasks import SYSTEM, TASKS, Chat, Grades, Likelihood, Question, Reply, Weighing


class RefusedError(InvalidInputError):
    """A reader can't take a question: it is longer than the window, or the endpoint refuses it. Others may be taken."""


class Reader(Protocol):
    """A model that answers."""

    name: str  # what tables call it
    key: str | None  # names the model, so that answers may be kept; None where they may not
    at_once: int  # how many questions it may be asked at a time

    def ask(self, item: Item, code: str) -> Question:
        """Return what it is asked about an item and the code that a pruner kept."""
        ...

    def answer(self, question: Question) -> Reply:
        """Answer. Raises `RefusedError`: it can't take this question. Raises `ServerError`: it can't be asked at
        all."""
        ...

    def grade(self, item: Item, reply: Reply) -> Grades:
        """Grade an answer."""
        ...


class LikelihoodReader:
    """A reader on a `CausalScorer`. Calls of several threads take turns."""

    at_once = 1

    def __init__(self, scorer: CausalScorer, name: str) -> None:
        self.name = name
        self.key = None if scorer.key is None else f"likelihood\0{scorer.key}"
        self._scorer = scorer
        self._turn = threading.Lock()

    def ask(self, item: Item, code: str) -> Weighing:
        return TASKS[item.task].weighing(item, code)

    def answer(self, question: Question) -> Reply:
        if not isinstance(question, Weighing):
            raise TypeError("this reader weighs ends and doesn't write")
        with self._turn:
            found = continuations(self._scorer, [Ask(question.text, question.ends)])[0]
        if cut := max(each.cut for each in found):
            raise RefusedError(
                f"the question is {cut:,} tokens longer than the reader's window of {self._scorer.max_tokens:,}; take "
                "shorter items or another reader"
            )
        weighed = tuple(Likelihood(each.total, each.tokens) for each in found)
        tokens = len(self._scorer.encode(question.text))
        return Reply(likelihoods=weighed, tokens_in=tokens, tokens_out=sum(each.tokens for each in weighed))

    def grade(self, item: Item, reply: Reply) -> Grades:
        return TASKS[item.task].weigh(item, reply.likelihoods)


KEY_FROM = "LAMR_READER_KEY"
"""The environment's variable with the key. It isn't that of lamr's servers, whose key is no reader's business."""
_REFUSALS = (400, 413, 422)
_STANDINS: dict[str, str | None] = {"max_tokens": "max_completion_tokens", "temperature": None, "seed": None}
"""What takes a parameter's place with models that refuse it; None leaves it out."""


class EndpointReader:
    """A reader behind `/chat/completions`. Threads may share one."""

    at_once = 8

    def __init__(self, url: str, model: str, *, api_key: str = "", retries: int = RETRIES) -> None:
        self.name = model
        self.key: str | None = hashlib.sha256(f"{url}\0{model}".encode()).hexdigest()
        self._endpoint = Endpoint(url, api_key or None, key_from=KEY_FROM)
        self._retries = retries
        self._options: dict[str, Any] = {"temperature": 0.0, "seed": 0}
        self._limit = "max_tokens"

    def ask(self, item: Item, code: str) -> Chat:
        return TASKS[item.task].chat(item, code)

    def answer(self, question: Question) -> Reply:
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
        return TASKS[item.task].grade(item, reply.text.rpartition("</think>")[2])

    def close(self) -> None:
        """Close the connections. Closing twice is harmless."""
        self._endpoint.close()
