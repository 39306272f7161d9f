"""Texts after a prefix: what counts, what a window cuts, and what is refused."""

import numpy as np
import pytest
from lamr_base.errors import InvalidInputError
from lamr_model.perplexity.continuations import Ask, continuations


class Spelled:
    """A model of bytes, which finds a byte as likely as its number says, and reads two spaces as one token."""

    name, key = "spelled", None

    def __init__(self, max_tokens: int = 64) -> None:
        self.max_tokens = max_tokens
        self.asked: list[list[int]] = []

    def encode(self, text: str) -> np.ndarray:
        return np.frombuffer(text.replace("  ", "\0").encode(), np.uint8).astype(np.int64)

    def log_probs(self, sequences, firsts=None):
        self.asked += [ids.tolist() for ids in sequences]
        return [-ids.astype(np.float32) for ids in sequences]


def test_each_text_has_the_tokens_after_its_prefix() -> None:
    scorer = Spelled()
    ((one, two), (three,)) = continuations(scorer, [Ask("Q: ", ("a", "bc")), Ask("x", ("y",))])
    assert (one.total, two.total, three.total) == (-97.0, -197.0, -121.0)
    assert (one.tokens, two.tokens, two.mean, two.cut) == (1, 2, -98.5, 0)
    assert len(scorer.asked) == 3
    ((found,),) = continuations(Spelled(), [Ask("a ", (" b",))])
    assert found.total == -98.0
    scorer = Spelled(8)
    ((one, two),) = continuations(scorer, [Ask("12345678", ("a", "bcd"))])
    assert (one.cut, two.cut) == (3, 3)
    assert [bytes(ids) for ids in scorer.asked] == [b"45678a", b"45678bcd"]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (Ask("a", ("",)), "0 tokens"),
        (Ask("a", ("b" * 8,)), "8 tokens after its prefix; spelled takes 1 to 7"),
        (Ask("", ("b",)), "the prefix is empty"),
    ],
)
def test_what_cannot_be_scored_is_refused(ask: Ask, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        continuations(Spelled(8), [ask])
