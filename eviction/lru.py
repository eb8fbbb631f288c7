"""`LruEviction`: keep the sessions used last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from ..errors import ConfigurationError

__all__ = ["LruEviction"]


class LruEviction:
    """Keeps `max_sessions` sessions and proposes those that were not used for longest.

    A proposed session no longer counts against the limit; a new use withdraws the proposal.

    Args:
        max_sessions: how many to keep, at least 1.

    Raises:
        ConfigurationError: if `max_sessions` is not a whole number of at least 1.

    Example:
        >>> lru = LruEviction(2)
        >>> lru.touch("ann"), lru.touch("bob"), lru.touch("ann"), lru.touch("eve")
        ((), (), (), ('bob',))
    """

    def __init__(self, max_sessions: int = 1000) -> None:
        if not isinstance(max_sessions, int) or isinstance(max_sessions, bool) or max_sessions < 1:
            raise ConfigurationError(f"max_sessions must be a whole number of at least 1, not {max_sessions!r}")
        self.max_sessions = max_sessions
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, None] = OrderedDict()
        self._proposed: dict[Hashable, None] = {}

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Record a use of `session_id` and return the sessions over the limit, least recently used first."""
        with self._lock:
            self._proposed.pop(session_id, None)
            self._kept[session_id] = None
            self._kept.move_to_end(session_id)
            while len(self._kept) > self.max_sessions:
                oldest, _ = self._kept.popitem(last=False)
                self._proposed[oldest] = None
            return tuple(self._proposed)

    def forget(self, session_id: Hashable) -> None:
        """Drop what is known of `session_id`."""
        with self._lock:
            self._kept.pop(session_id, None)
            self._proposed.pop(session_id, None)

    def __repr__(self) -> str:
        return f"LruEviction({self.max_sessions})"
