"""`EndpointScorer`: log-probabilities from an HTTP endpoint that tells how likely a prompt's tokens are.

vLLM, SGLang and others give them for a whole prompt, in one of two forms. llama.cpp's server gives them for generated
tokens only, so it is made to generate the prompt, one token a request. Which of these a server can, it is asked when a
scorer is made."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from lamr_base.errors import (
    InvalidInputError,
    ModelMismatchError,
    ServerError,
    ServerUnavailableError,
    visible,
)
from lamr_base.records import dataclass
from lamr_model.encoder.packed_batch import cut_by_tokens
from lamr_model.perplexity.causal_scorer import IntArray, check_sequences
from numpy.typing import NDArray

from lamr_client.endpoint import Endpoint
from lamr_client.transport import Closing

REQUEST_TOKENS = 16_384
"""Of the prompts that one request holds."""
USUAL_WINDOW = 4096
"""The longest sequence for a server that doesn't tell its window."""
_FORCED = 1e6  # beyond all that a model gives a token
_EVERY = 1_000_000  # more than any vocabulary has tokens
_PROBE = "def probe(a, b): return a"

Log = NDArray[np.float32]


@dataclass(frozen=True)
class _Whole:
    """A form in which a server tells of a whole prompt."""

    asked: dict[str, Any]  # what the request says beside model and prompt
    # gives the numbers of a prompt's tokens from a choice of the answer, and the prompt; the first is ignored
    read: Callable[[Any, list[int]], list[Any]]


_WHOLE = (
    _Whole(
        {"prompt_logprobs": 0},
        lambda choice, ids: (
            [0.0]
            + [
                told[str(token)]["logprob"]
                for told, token in zip(choice["prompt_logprobs"][1:], ids[1:], strict=True)
            ]
        ),
    ),
    _Whole(
        {"echo": True, "logprobs": 1},
        lambda choice, ids: [0.0, *choice["logprobs"]["token_logprobs"][1 : len(ids)]],
    ),
)


class EndpointScorer(Closing):
    """A `CausalScorer` on an endpoint that speaks OpenAI's completions, with token ids as prompts.

        with EndpointScorer("http://127.0.0.1:8000/v1") as scorer:
            compression = compress(code, "How are retries limited?", scorer)

    Nothing names a server's weights, so `key` is None. Special tokens that a text spells are plain text for llama.cpp's
    server; vLLM's reads them as special ones.

    Attributes:
        name, max_tokens, key: see `CausalScorer`.
        by_token: whether the server is asked for one token a request."""

    key: str | None = None

    def __init__(
        self, url: str, *, model: str | None = None, api_key: str | None = None, timeout: float = 600.0
    ) -> None:
        """Ask the server for its model, and for the log-probabilities of a few tokens.

        Args:
            url: the base of the API, with `/v1`; `#NAME` at its end names the model.
            model: the model's name; None takes the only one that the server has.
            api_key: opens the server.
            timeout: seconds for each request.

        Raises:
            InvalidInputError: the address isn't one, or a key would travel in the clear.
            MissingPackageError: the package `openai` isn't installed.
            ServerError: nothing answers there, or it doesn't let us in.
            ModelMismatchError: it has no such model, can't count tokens, or tells no log-probabilities of
                prompts."""
        base, _, named = url.partition("#")
        self._base = base.rstrip("/")
        self._endpoint = Endpoint(self._base, api_key, timeout)
        try:
            self.name, told = self._choose(model or named or None)
            ids = self._probed()
            self.max_tokens, self._plain = self._window(told), int(ids[-1])
            self._form = self._find_form(ids.tolist())
        except BaseException:
            self.close()
            raise

    @property
    def by_token(self) -> bool:
        """See the class."""
        return self._form is None

    def encode(self, text: str) -> IntArray:
        """See `CausalScorer.encode`."""
        body: dict[str, Any] = {"model": self.name, "prompt": text, "content": text}
        body |= {"add_special_tokens": True, "add_special": True, "parse_special": False}
        answer = self._endpoint.ask(f"{self._endpoint.root}/tokenize", body)
        with self._reads("the tokens of a text"):
            return np.array(answer["tokens"], np.int64).reshape(len(answer["tokens"]))

    def log_probs(self, sequences: Sequence[IntArray], firsts: Sequence[int] | None = None) -> list[Log]:
        """See `CausalScorer.log_probs`. Raises `InvalidInputError`: a sequence is empty or too long. Raises
        `ServerError`, `ModelMismatchError`: the server failed, or answers in another form than at first."""
        check_sequences(sequences, self.max_tokens)
        asked = [max(first, 1) for first in firsts or [1] * len(sequences)]
        found = [np.zeros(len(ids), np.float32) for ids in sequences]
        if self._form is None:
            # Sequences that begin alike follow each other, so that the server still holds what they share.
            for place in sorted(range(len(sequences)), key=lambda at: sequences[at].tolist()):
                ids = sequences[place].tolist()
                with self._reads("the log-probability of a token"):
                    told = [self._forced(ids[:at], ids[at]) for at in range(asked[place], len(ids))]
                found[place][asked[place] :] = told
            return found
        waiting = [place for place, ids in enumerate(sequences) if asked[place] < len(ids)]
        for batch in cut_by_tokens([len(sequences[place]) for place in waiting], REQUEST_TOKENS):
            places = [waiting[at] for at in batch]
            answers = self._whole(self._form, [sequences[place].tolist() for place in places])
            for place, values in zip(places, answers, strict=True):
                found[place][asked[place] :] = values[asked[place] :]
        return found

    def close(self) -> None:
        """Let go of the connections; closing twice is harmless."""
        self._endpoint.close()

    def _choose(self, wanted: str | None) -> tuple[str, dict[str, Any]]:
        """The model's name, and what the server tells of it."""
        # Without retries, a wrong address is told at once.
        answer = self._endpoint.ask(f"{self._base}/models", retries=0)
        with self._reads("its models"):
            models = {str(each["id"]): dict(each) for each in answer["data"]}
        names = ", ".join(sorted(models)) or "none"
        if wanted is None and len(models) == 1:
            wanted = next(iter(models))
        if wanted is None:
            raise InvalidInputError(
                f"{self._base} has several models; add one as #NAME to the address: {visible(names)}",
                argument="url",
            )
        if wanted not in models:
            raise ModelMismatchError(
                f"{self._base} has no model {wanted!r}; it has {visible(names)}", server=self._base
            )
        return wanted, models[wanted]

    def _probed(self) -> IntArray:
        """The tokens of a few words, from a server that can count tokens."""
        try:
            return self.encode(_PROBE)
        except ServerUnavailableError:
            raise
        except (ServerError, ModelMismatchError) as error:
            raise self._unfit(f"counts no tokens at /tokenize ({error})") from error

    def _unfit(self, lack: str) -> ModelMismatchError:
        return ModelMismatchError(
            f"{self._base} {lack}; vLLM, SGLang and llama.cpp's server do. Ollama and endpoints for chats don't: give "
            "their model as a GGUF file or a folder",
            server=self._base,
        )

    def _window(self, told: dict[str, Any]) -> int:
        """The longest sequence: vLLM and SGLang tell it of the model, llama.cpp of its slots."""
        size = told.get("max_model_len")
        if not isinstance(size, int):
            with contextlib.suppress(ServerError, ModelMismatchError, KeyError, TypeError):
                size = self._endpoint.ask(f"{self._endpoint.root}/props")["default_generation_settings"][
                    "n_ctx"
                ]
        # One token is generated after a prompt, since some servers refuse to generate none.
        return size - 1 if isinstance(size, int) and size > 1 else USUAL_WINDOW

    def _find_form(self, ids: list[int]) -> _Whole | None:
        """The first form of which the server tells all numbers; None for one token a request."""
        for form in _WHOLE:
            with contextlib.suppress(ModelMismatchError, ServerError):
                self._whole(form, [ids])
                return form
        with (
            contextlib.suppress(ModelMismatchError, ServerError),
            self._reads("the log-probability of a token"),
        ):
            self._forced(ids[:-1], ids[-1])
            return None
        raise self._unfit("tells no log-probabilities of a prompt")

    def _whole(self, form: _Whole, prompts: list[list[int]]) -> list[Log]:
        body = {"model": self.name, "prompt": prompts, "max_tokens": 1, "temperature": 0, **form.asked}
        answer = self._endpoint.ask(f"{self._base}/completions", body)
        with self._reads("log-probabilities of the prompt"):
            choices = sorted(answer["choices"], key=lambda choice: int(choice.get("index", 0)))
            return [
                _checked(form.read(choice, ids), len(ids))
                for choice, ids in zip(choices, prompts, strict=True)
            ]

    def _forced(self, before: list[int], token: int) -> float:
        """What llama.cpp's server tells of one token that it is made to generate.

        It tells nothing of a token that ends within a character. Then it generates another one, and tells of
        all."""
        told = self._generated(before, token, 1)
        if not told:
            others = self._generated(before, self._plain, _EVERY)
            told = [each for told in others for each in told["top_logprobs"] if each["id"] == token]
        if len(told) != 1 or told[0]["id"] != token:
            raise ValueError(f"nothing of token {token}")
        return float(_checked([told[0]["logprob"]], 1)[0])

    def _generated(self, before: list[int], token: int, among: int) -> list[dict[str, Any]]:
        body = {"prompt": before, "n_predict": 1, "n_probs": among, "cache_prompt": True}
        body |= {"logit_bias": [[token, _FORCED]], "temperature": 0}
        answer = self._endpoint.ask(f"{self._endpoint.root}/completion", body)
        return list(answer.get("completion_probabilities", []))

    @contextlib.contextmanager
    def _reads(self, what: str) -> Iterator[None]:
        """Turn an answer of another form into an error with a name."""
        try:
            yield
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelMismatchError(
                f"{self._base} doesn't tell {what} as it should ({visible(str(error))[:200]})",
                server=self._base,
            ) from error


def _checked(values: list[Any], count: int) -> Log:
    """Numbers as float32 `[count]`. Raises `ValueError`: there are others, or they are no logarithms of
    probabilities."""
    numbers = np.array(values, np.float32)
    if numbers.shape != (count,) or not np.isfinite(numbers).all() or numbers.max(initial=0) > 1e-3:
        raise ValueError(f"{len(values)} numbers for {count} tokens, or no logarithms of probabilities")
    return numbers
