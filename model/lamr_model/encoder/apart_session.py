"""`ApartSession`: an encoder that reads query and code apart, and each part once for as long as it is kept.

It takes an onnxruntime session's place: the same inputs give the same outputs, whether parts were kept or
not."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamr_model.encoder.kept_states import KeptStates
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.encoder.part_spec import PartSpec
from lamr_model.names import CU_SEQLENS, INPUT_IDS, STATES

FUSION_SHARE = 0.15
"""Of an encoder's work on a token that is left where its part was kept, as lamr-mini's takes it."""
Ids = NDArray[np.int64]


class ApartSession:
    """The two graphs of an encoder, and the states of parts that were read."""

    def __init__(self, part: Callable[[], Any], fusion: Any, spec: PartSpec, kept: KeptStates) -> None:
        """Take what was opened.

        Args:
            part: gives the session that reads parts; it is called when a part is to be read.
            fusion: the session that brings parts together; its inputs and outputs, less the states, are the encoder's.
            spec: names the model, and where a query ends.
            kept: is looked up and filled, and closed with the session."""
        self._part, self._fusion, self._spec, self._kept = part, fusion, spec, kept
        self._width = next(int(node.shape[1]) for node in fusion.get_inputs() if node.name == STATES)

    def run(self, outputs: Sequence[str], feed: Mapping[str, NDArray[Any]], options: Any = None) -> list[Any]:
        """Return the outputs that are named, as an onnxruntime session does.

        Args:
            outputs: names of the encoder's outputs.
            feed: a packed batch (`packed_batch.encoder_feed`).
            options: onnxruntime's `RunOptions`."""
        bounds = itertools.pairwise(feed[CU_SEQLENS].tolist())
        parts = [part for first, last in bounds for part in self.parts(feed[INPUT_IDS][first:last])]
        keys = [self._key(part) for part in parts]
        by_key = dict(zip(keys, parts, strict=True))
        known = self._kept.find(by_key, self._width)
        if missing := {key: part for key, part in by_key.items() if key not in known}:
            known.update(self._read(missing, options))
        states = np.concatenate([known[key] for key in keys])
        result: list[Any] = self._fusion.run(outputs, {**feed, STATES: states}, options)
        return result

    def get_inputs(self) -> list[Any]:
        """Return the inputs as onnxruntime describes them."""
        return [node for node in self._fusion.get_inputs() if node.name != STATES]

    def get_outputs(self) -> list[Any]:
        """Return the outputs as onnxruntime describes them."""
        outputs: list[Any] = self._fusion.get_outputs()
        return outputs

    def get_providers(self) -> list[str]:
        """Return the execution providers, best first."""
        providers: list[str] = self._fusion.get_providers()
        return providers

    def get_session_options(self) -> Any:
        """Return onnxruntime's options, which both sessions have."""
        return self._fusion.get_session_options()

    def parts(self, sequence: Ids) -> list[Ids]:
        """Return the parts of a sequence int64 [t]: the query up to the first separator, and what follows it."""
        ends = np.flatnonzero(sequence == self._spec.separator)
        end = int(ends[0]) + 1 if len(ends) else len(sequence)
        return [part for part in (sequence[:end], sequence[end:]) if len(part)]

    def work(self, sequence: Ids) -> float:
        """Return what a sequence costs, in tokens of one whose parts weren't kept."""
        new = sum(len(part) for part in self.parts(sequence) if self._key(part) not in self._kept)
        return FUSION_SHARE * len(sequence) + (1 - FUSION_SHARE) * new

    def close(self) -> None:
        """Close what keeps the states; a later run is an error."""
        self._kept.close()

    def _key(self, part: Ids) -> bytes:
        return KeptStates.key(self._spec.model_sha256, part)

    def _read(self, missing: Mapping[bytes, Ids], options: Any) -> dict[bytes, NDArray[np.float16]]:
        (states,) = self._part().run([STATES], encoder_feed(list(missing.values())), options)
        ends = np.cumsum([len(part) for part in missing.values()])[:-1]
        # Copies, because a part that is kept would keep the states of the whole batch.
        read = {key: own.copy() for key, own in zip(missing, np.split(states, ends), strict=True)}
        self._kept.put(read)
        return read
