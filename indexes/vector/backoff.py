"""Backoff after slow failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from ...shared.fork import new_lock

__all__ = ["Backoff"]

_MIN_SLOW_SECONDS = 0.05
_WAIT_FACTOR = 10.0
_MAX_WAIT_SECONDS = 300.0
_MAX_KEYS = 256


class Backoff:
    """Record of slow failures, so that a service that is down does not cost a timeout in every turn.

    A failure within 0.05 seconds is cheap and may be retried at once. After a slower failure, the wait is ten times as
    long as the failure took, at most five minutes. Thread-safe. If more than 256 keys wait, the one whose wait ends
    first is dropped.

    Args:
        clock: A function that returns seconds. Only differences count.

    Example:
        >>> backoff = Backoff(clock=lambda: 100.0)
        >>> backoff.record_failure("the hub", 5.0)
        >>> backoff.is_waiting("the hub"), backoff.is_waiting("another")
        (True, False)
        >>> backoff.record_success("the hub")
        >>> backoff.is_waiting("the hub")
        False
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends: dict[Hashable, float] = {}
        self._lock = new_lock()

    def is_waiting(self, key: Hashable) -> bool:
        """Return whether it is too early to retry `key`."""
        now = self._clock()
        with self._lock:
            end = self._ends.get(key)
            if end is not None and end <= now:
                del self._ends[key]
            return end is not None and now < end

    def record_failure(self, key: Hashable, seconds: float) -> None:
        """Record that `key` failed now, after `seconds`. Only the last failure of a key counts."""
        if seconds <= _MIN_SLOW_SECONDS:
            self.record_success(key)  # a quick failure may be retried at once, too
            return
        end = self._clock() + min(_MAX_WAIT_SECONDS, _WAIT_FACTOR * seconds)
        with self._lock:
            self._ends[key] = end
            if len(self._ends) > _MAX_KEYS:
                del self._ends[min(self._ends, key=self._ends.__getitem__)]

    def record_success(self, key: Hashable) -> None:
        """End the wait of `key`."""
        with self._lock:
            self._ends.pop(key, None)
