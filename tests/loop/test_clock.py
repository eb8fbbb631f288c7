"""Clocks: the system clock waits, the fake clock pretends to."""

from __future__ import annotations

import anyio
import pytest

from toolsearch.errors import ConfigurationError
from toolsearch.loop.clock import Clock, SystemClock
from toolsearch.testing import FakeClock


@pytest.mark.parametrize("clock", [SystemClock(), FakeClock()])
def test_both_are_clocks_that_do_not_go_back(clock: Clock) -> None:
    assert isinstance(clock, Clock)
    before = clock.monotonic()
    clock.sleep(0)
    clock.sleep(-1)
    anyio.run(clock.sleep_async, 0)
    assert clock.monotonic() >= before


def test_the_fake_clock_moves_and_records_each_wait() -> None:
    clock = FakeClock(100)
    clock.sleep(1.5)
    anyio.run(clock.sleep_async, 2)
    assert clock.advance(10) == 113.5
    assert (clock(), clock.monotonic(), clock.sleeps) == (113.5, 113.5, [1.5, 2])


def test_the_fake_clock_cannot_go_back() -> None:
    with pytest.raises(ConfigurationError, match="must be 0 or more, got -1"):
        FakeClock().advance(-1)
