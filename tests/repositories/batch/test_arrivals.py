"""What arrives is taken in order, silence is reported, and errors are the taker's."""

import threading
from collections.abc import Iterator

import pytest
from lamr_repositories.batch.arrivals import each_second


def test_items_come_in_order_and_silence_is_none() -> None:
    go_on = threading.Event()

    def source() -> Iterator[int]:
        yield 1
        go_on.wait(60)
        yield 2

    taken = []
    with each_second(source()) as arriving:
        for item in arriving:
            taken.append(item)
            if item is None:
                go_on.set()
    assert taken[0] == 1
    assert taken[-1] == 2
    assert set(taken) == {1, 2, None}


def test_an_error_of_the_source_is_raised_after_what_came_before_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    with each_second(source()) as arriving:
        assert next(arriving) == 1
        with pytest.raises(ValueError, match="broken"):
            next(arriving)


def test_the_reader_ends_with_the_taker() -> None:
    def source() -> Iterator[int]:
        while True:
            yield 1

    with each_second(source()) as arriving:
        assert next(arriving) == 1
        (reader,) = [thread for thread in threading.enumerate() if thread.name == "lamr-arrivals"]
    reader.join(60)
    assert not reader.is_alive()
