"""Windows follow weights and the pool's capacity."""

import pytest
from lamr_serving.front.fleet import Fleet, FrontSettings, Replica, Tenant


def windows(*tenants: Tenant, capacity: int = 12, **settings: int) -> dict[str, int]:
    return Fleet(FrontSettings(**settings), (Replica("one", "a:1", capacity),), tenants).windows()


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((1,), [12]),
        ((1, 1), [6, 6]),
        ((1, 3), [3, 9]),
        ((1, 2, 4), [2, 4, 8]),
        ((1, 1, 1, 1, 1, 1, 1, 1), [3] * 8),
        ((0.1, 100), [1, 12]),
    ],
)
def test_windows_follow_weights(weights: tuple[float, ...], expected: list[int]) -> None:
    tenants = [Tenant(str(index), weight) for index, weight in enumerate(weights)]
    assert list(windows(*tenants).values()) == expected


def test_a_large_fleet_keeps_the_ratios_of_weights() -> None:
    tenants = [Tenant(str(index), 1 + index % 4) for index in range(200)]
    found = windows(*tenants, capacity=6)
    assert [found[str(index)] for index in range(4)] == [1, 2, 3, 4]


def test_a_given_window_is_taken_as_it_is() -> None:
    assert windows(Tenant("a", window=40), Tenant("b"), busy_tenants=1) == {"a": 40, "b": 12}
    assert windows(Tenant("a", window=2)) == {"a": 2}
