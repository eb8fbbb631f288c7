"""`TtlEviction`: forget sessions that were idle for too long."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import timedelta
from threading import Lock

from ..errors import ConfigurationError

__all__ = ["TtlEviction"]


class TtlEviction:
    """Proposes sessions that were idle for `ttl` or longer; every use starts a session's time anew.

    Sessions are kept in order of their last use, so a touch looks only at expired ones and stops at the first fresh
    one. When very many expire at once, a touch takes up `max_per_touch` of them and the next touches the rest: no
    single request pays for a crowd. Nothing happens between uses; an idle session is proposed when another is used.

    Args:
        ttl: how long a session may be idle, as a `timedelta` or in seconds; more than nothing.
        clock: seconds that never go backwards.
        max_per_touch: how many newly expired sessions one touch may propose.

    Raises:
        ConfigurationError: if `ttl` is not a positive, finite time, `clock` cannot be called or `max_per_touch` is not
            a whole number of at least 1.

    Example:
        >>> now = 0.0
        >>> ttl = TtlEviction(timedelta(minutes=30), clock=lambda: now)
        >>> ttl.touch("ann")
        ()
        >>> now = 1800.0
        >>> ttl.touch("bob")
        ('ann',)
    """

    def __init__(
        self, ttl: timedelta | float, *, clock: Callable[[], float] = time.monotonic, max_per_touch: int = 64
    ) -> None:
        if not callable(clock):
            raise ConfigurationError(f"clock must be a callable that returns seconds, not {clock!r}")
        if not isinstance(max_per_touch, int) or isinstance(max_per_touch, bool) or max_per_touch < 1:
            raise ConfigurationError(f"max_per_touch must be a whole number of at least 1, not {max_per_touch!r}")
        self.seconds = _seconds(ttl)
        self.max_per_touch = max_per_touch
        self._clock = clock
        self._lock = Lock()
        self._used: OrderedDict[Hashable, float] = OrderedDict()
        self._proposed: dict[Hashable, None] = {}

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Record a use of `session_id` and return the idle sessions, the longest idle first."""
        with self._lock:
            now = self._clock()
            self._proposed.pop(session_id, None)
            self._used[session_id] = now
            self._used.move_to_end(session_id)
            for _ in range(self.max_per_touch):
                oldest, last_use = next(iter(self._used.items()))
                if now - last_use < self.seconds:  # at the latest the session just used
                    break
                del self._used[oldest]
                self._proposed[oldest] = None
            return tuple(self._proposed)

    def forget(self, session_id: Hashable) -> None:
        """Drop what is known of `session_id`."""
        with self._lock:
            self._used.pop(session_id, None)
            self._proposed.pop(session_id, None)

    def __repr__(self) -> str:
        return f"TtlEviction({self.seconds!r})"


def _seconds(ttl: timedelta | float) -> float:
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds <= 0:
        raise ConfigurationError(
            f"ttl must be a timedelta or a number of seconds, more than 0 and finite, not {ttl!r}; "
            "to keep every session use NeverEvict()"
        )
    return float(seconds)
