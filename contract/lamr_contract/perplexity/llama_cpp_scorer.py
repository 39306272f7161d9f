"""`LlamaCppScorer`: log-probabilities from a GGUF file in this process, by llama.cpp.

Weights stay as they are in the file, and llama.cpp rounds what they are multiplied with to eight bits, so that a
log-probability differs by some hundredths from that of the same weights in float32.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamr_contract.cpus import usable_cpus
from lamr_contract.errors import ClosedError, InvalidInputError, ModelMismatchError, ServerError
from lamr_contract.perplexity.causal_scorer import IntArray, check_sequences
from lamr_contract.perplexity.families import Family, families

MOST_TOKENS = 8192
"""The longest sequence unless a caller says otherwise: memory is taken for it when a model is loaded."""
_STEP = 512  # tokens that llama.cpp is given at once; it keeps the scores of those that are asked for


class LlamaCppScorer:
    """A `CausalScorer` on a GGUF file. Calls of several threads take turns."""

    def __init__(
        self, file: str | Path, *, threads: int | None = None, max_tokens: int = MOST_TOKENS
    ) -> None:
        """Load the model.

        Args:
            file: the GGUF file, or the first of its parts.
            threads: None takes the CPUs that this process may use.
            max_tokens: the longest sequence, if the model's window isn't smaller.

        Raises:
            ImportError: llama-cpp-python isn't installed.
            ModelMismatchError: llama.cpp can't load the file.
        """
        import llama_cpp  # noqa: PLC0415 - compiled, and part of an extra

        self._api: Any = llama_cpp
        self._turn = threading.Lock()
        self._held = contextlib.ExitStack()
        file = Path(file)
        self.name = file.stem
        with contextlib.ExitStack() as held:
            self._load(file, held, threads or usable_cpus(), max_tokens)
            self.key: str | None = _digest(file)
            self._held = held.pop_all()

    def encode(self, text: str) -> IntArray:
        """See `CausalScorer.encode`."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 2
        found = (self._api.llama_token * room)()
        with self._turn:
            self._check_open()
            count = self._api.llama_tokenize(self._vocab, data, len(data), found, room, True, False)
        if count < 0:
            raise InvalidInputError(f"{self.name} can't read a text of {len(data)} bytes", argument="text")
        return np.array(found[:count], np.int64)

    def log_probs(
        self, sequences: Sequence[IntArray], firsts: Sequence[int] | None = None
    ) -> list[NDArray[np.float32]]:
        """See `CausalScorer.log_probs`."""
        check_sequences(sequences, self.max_tokens, self._vocabulary)
        asked = [max(first, 1) for first in firsts or [1] * len(sequences)]
        found = [np.zeros(len(ids), np.float32) for ids in sequences]
        with self._turn:
            self._check_open()
            for family in families(sequences, self.max_tokens):
                self._score(family, sequences, asked, found)
        return found

    def close(self) -> None:
        """Let go of the model; closing twice is harmless."""
        with self._turn:
            self._held.close()
            self._context = None

    def __enter__(self) -> LlamaCppScorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _load(self, file: Path, held: contextlib.ExitStack, threads: int, max_tokens: int) -> None:
        api = self._api
        api.llama_log_set(_silence(api), None)
        api.llama_backend_init()
        given = api.llama_model_default_params()
        if not file.is_file() or not (model := api.llama_model_load_from_file(str(file).encode(), given)):
            raise ModelMismatchError(
                f"llama.cpp can't load {file}; is it a whole GGUF file, and llama-cpp-python new enough for its model?",
                path=file,
            )
        held.callback(api.llama_model_free, model)
        self._vocab = api.llama_model_get_vocab(model)
        self._vocabulary: int = api.llama_vocab_n_tokens(self._vocab)
        self.max_tokens: int = min(max_tokens, api.llama_model_n_ctx_train(model))
        given = api.llama_context_default_params()
        given.n_ctx, given.n_batch, given.n_ubatch = self.max_tokens, _STEP, _STEP
        given.n_threads = given.n_threads_batch = threads
        if not (context := api.llama_init_from_model(model, given)):
            raise ModelMismatchError(
                f"llama.cpp has no memory for {self.max_tokens} tokens of {file}", path=file
            )
        held.callback(api.llama_free, context)
        self._context, self._memory = context, api.llama_get_memory(context)
        self._batch = api.llama_batch_init(_STEP, 0, 1)
        held.callback(api.llama_batch_free, self._batch)
        for place in range(_STEP):  # all tokens belong to one sequence
            self._batch.n_seq_id[place], self._batch.seq_id[place][0] = 1, 0

    def _score(
        self,
        family: Family,
        sequences: Sequence[IntArray],
        firsts: Sequence[int],
        found: Sequence[NDArray[np.float32]],
    ) -> None:
        """Read what a family shares, and then what each of its sequences goes on with."""
        self._api.llama_memory_clear(self._memory, True)
        shared = family.shared - (len(family.places) > 1)  # the last shared token foresees what differs
        if shared:
            first = min(firsts[place] for place in family.places)
            ids = sequences[family.places[0]][: family.shared]
            values = self._read(ids, 0, shared, first)
            for place in family.places:
                at = firsts[place]
                found[place][at : shared + 1] = values[at : shared + 1]
        for place in family.places if len(family.places) > 1 else ():
            self._api.llama_memory_seq_rm(self._memory, 0, shared, -1)
            ids, at = sequences[place], max(firsts[place], shared + 1)
            found[place][at:] = self._read(ids, shared, len(ids), at)[at:]

    def _read(self, ids: IntArray, start: int, stop: int, first: int) -> NDArray[np.float32]:
        """Read tokens from `start` to before `stop`; float32 `[t]`, with what is known of tokens from `first` on."""
        values = np.zeros(len(ids), np.float32)
        batch, as_array = self._batch, np.ctypeslib.as_array
        for begin in range(start, stop, _STEP):
            places = np.arange(begin, min(begin + _STEP, stop))
            wanted = (places + 1 >= first) & (places + 1 < len(ids))
            batch.n_tokens = count = len(places)
            as_array(batch.token, (count,))[:] = ids[places]
            as_array(batch.pos, (count,))[:] = places
            as_array(batch.logits, (count,))[:] = wanted
            if code := self._api.llama_decode(self._context, batch):
                raise ServerError(f"llama.cpp failed on {count} tokens of {self.name} (code {code})")
            if wanted.any():
                shape = (int(wanted.sum()), self._vocabulary)
                scores = as_array(self._api.llama_get_logits(self._context), shape)
                following = places[wanted] + 1
                own = scores[np.arange(len(following)), ids[following]]
                top = scores.max(axis=1)
                values[following] = own - top - np.log(np.exp(scores - top[:, None]).sum(axis=1))
        return values

    def _check_open(self) -> None:
        if self._context is None:
            raise ClosedError(f"the scorer of {self.name} was closed; make a new one")


def _digest(file: Path) -> str:
    digest = hashlib.sha256(b"llama.cpp")
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:16]


@functools.cache
def _silence(api: Any) -> Any:
    """What llama.cpp tells its lines to; it must live as long as the library."""
    return api.llama_log_callback(lambda *_: None)
