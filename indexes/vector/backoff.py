"""What failed slowly is not tried again at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

__all__ = ["Backoff"]

_QUICK = 0.05
_PATIENCE = 10.0
_LONGEST_WAIT = 300.0
_MOST_KEYS = 256


class Backoff:
    """Remembers what failed, so that a service that is down does not cost each turn a timeout.

    What failed within 0.05 seconds costs little and may be tried again at once. What took longer waits ten times as
    long as it took, five minutes at most. For many threads. Of more than 256 waits at once those that end first are
    forgotten.

    Args:
        clock: returns seconds; only differences count.

    Example:
        >>> backoff = Backoff(clock=lambda: 100.0)
        >>> backoff.failed("the hub", 5.0)
        >>> backoff.waiting("the hub"), backoff.waiting("another")
        (True, False)
        >>> backoff.succeeded("the hub")
        >>> backoff.waiting("the hub")
        False
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends: dict[Hashable, float] = {}
        self._lock = threading.Lock()

    def waiting(self, key: Hashable) -> bool:
        """Whether it is too early to try `key` again."""
        now = self._clock()
        with self._lock:
            end = self._ends.get(key)
            if end is not None and end <= now:
                del self._ends[key]
            return end is not None and now < end

    def failed(self, key: Hashable, seconds: float) -> None:
        """Let `key` wait, for it failed just now after `seconds`; of several failures the last one counts."""
        if seconds <= _QUICK:
            self.succeeded(key)  # in that it may be tried again
            return
        end = self._clock() + min(_LONGEST_WAIT, _PATIENCE * seconds)
        with self._lock:
            self._ends[key] = end
            if len(self._ends) > _MOST_KEYS:
                del self._ends[min(self._ends, key=self._ends.__getitem__)]

    def succeeded(self, key: Hashable) -> None:
        """Let `key` be tried whenever it is asked for."""
        with self._lock:
            self._ends.pop(key, None)
