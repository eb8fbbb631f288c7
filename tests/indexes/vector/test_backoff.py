"""Tests of the backoff after slow failures."""

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
def test_wait_after_a_slow_failure(backoff: Backoff, clock: FakeClock, took: float, waits: float) -> None:
    backoff.record_failure("a", took)
    clock.sleep(waits * 0.99)
    assert backoff.is_waiting("a")
    clock.sleep(waits * 0.02)
    assert not backoff.is_waiting("a")


@pytest.mark.parametrize("took", [0.0, 0.05, -1.0])
def test_quick_failure_does_not_wait(backoff: Backoff, took: float) -> None:
    backoff.record_failure("a", took)
    assert not backoff.is_waiting("a")


def test_keys_are_independent(backoff: Backoff) -> None:
    backoff.record_failure("a", 1.0)
    assert not backoff.is_waiting("b")
    backoff.record_success("b")
    assert backoff.is_waiting("a")
    backoff.record_success("a")
    assert not backoff.is_waiting("a")


def test_last_failure_counts(backoff: Backoff, clock: FakeClock) -> None:
    backoff.record_failure("a", 10.0)
    clock.sleep(1.0)
    backoff.record_failure("a", 0.1)
    clock.sleep(0.9)
    assert backoff.is_waiting("a")
    clock.sleep(0.2)
    assert not backoff.is_waiting("a")
    backoff.record_failure("a", 10.0)
    backoff.record_failure("a", 0.01)
    assert not backoff.is_waiting("a")


def test_number_of_keys_is_bounded(backoff: Backoff) -> None:
    for n in range(1_000):
        backoff.record_failure(n, 1.0 + n / 100)
    assert [n for n in range(1_000) if backoff.is_waiting(n)] == list(range(744, 1_000))


def test_thread_safety() -> None:
    backoff = Backoff(lambda: 0.0)

    def run(thread: int) -> None:
        for n in range(500):
            backoff.record_failure((thread, n % 300), 1.0)
            backoff.is_waiting((thread, n % 7))
            backoff.record_success((thread, n % 300))

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(run, thread) for thread in range(8)]:
            done.result(30)
    assert not any(backoff.is_waiting((thread, n)) for thread in range(8) for n in range(300))
