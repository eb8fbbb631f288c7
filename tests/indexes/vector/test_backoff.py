"""How long a failure is remembered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from toolsearch.indexes.vector.backoff import Backoff
from toolsearch.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def backoff(clock: FakeClock) -> Backoff:
    return Backoff(clock.monotonic)


@pytest.mark.parametrize(("took", "waits"), [(0.06, 0.6), (2.0, 20.0), (30.0, 300.0), (10_000.0, 300.0)])
def test_a_slow_failure_waits_ten_times_as_long_and_five_minutes_at_most(
    backoff: Backoff, clock: FakeClock, took: float, waits: float
) -> None:
    backoff.failed("a", took)
    clock.sleep(waits * 0.99)
    assert backoff.waiting("a")
    clock.sleep(waits * 0.02)
    assert not backoff.waiting("a")


@pytest.mark.parametrize("took", [0.0, 0.05, -1.0])
def test_a_quick_failure_does_not_wait(backoff: Backoff, took: float) -> None:
    backoff.failed("a", took)
    assert not backoff.waiting("a")


def test_keys_wait_each_for_itself(backoff: Backoff) -> None:
    backoff.failed("a", 1.0)
    assert not backoff.waiting("b")
    backoff.succeeded("b")
    assert backoff.waiting("a")
    backoff.succeeded("a")
    assert not backoff.waiting("a")


def test_the_last_failure_counts(backoff: Backoff, clock: FakeClock) -> None:
    backoff.failed("a", 10.0)
    clock.sleep(1.0)
    backoff.failed("a", 0.1)
    clock.sleep(0.9)
    assert backoff.waiting("a")
    clock.sleep(0.2)
    assert not backoff.waiting("a")
    backoff.failed("a", 10.0)
    backoff.failed("a", 0.01)
    assert not backoff.waiting("a")


def test_of_too_many_waits_the_shortest_are_forgotten(backoff: Backoff) -> None:
    for n in range(1_000):
        backoff.failed(n, 1.0 + n / 100)
    assert [n for n in range(1_000) if backoff.waiting(n)] == list(range(744, 1_000))


def test_threads_may_share_one() -> None:
    backoff = Backoff(lambda: 0.0)

    def run(thread: int) -> None:
        for n in range(500):
            backoff.failed((thread, n % 300), 1.0)
            backoff.waiting((thread, n % 7))
            backoff.succeeded((thread, n % 300))

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(run, thread) for thread in range(8)]:
            done.result(30)
    assert not any(backoff.waiting((thread, n)) for thread in range(8) for n in range(300))
