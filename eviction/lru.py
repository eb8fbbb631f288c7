"""Eviction of the least recently used sessions."""

from __future__ import annotations

from collections.abc import Hashable

from cachetools import LRUCache

from ..errors import ConfigurationError
from ..shared.fork import new_lock

__all__ = ["LruEviction"]


class LruEviction:
    """Eviction strategy that keeps a fixed number of sessions and proposes the least recently used ones.

    A proposed session no longer counts toward the limit. A new use of it withdraws the proposal.

    Args:
        max_sessions: The number of sessions to keep, at least 1.

    Raises:
        ConfigurationError: If `max_sessions` is not an integer of at least 1.

    Example:
        >>> lru = LruEviction(2)
        >>> lru.touch("ann"), lru.touch("bob"), lru.touch("ann"), lru.touch("eve")
        ((), (), (), ('bob',))
    """

    def __init__(self, max_sessions: int = 1000) -> None:
        if not isinstance(max_sessions, int) or isinstance(max_sessions, bool) or max_sessions < 1:
            raise ConfigurationError(f"max_sessions must be an integer of at least 1, got {max_sessions!r}")
        self.max_sessions = max_sessions
        self._lock = new_lock()
        self._kept: LRUCache[Hashable, None] = LRUCache(max_sessions)
        # A cache forgets what it drops. The contract proposes a session until `forget` confirms it.
        self._proposed: dict[Hashable, None] = {}

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Record a use of a session and return the sessions over the limit, least recently used first."""
        with self._lock:
            self._proposed.pop(session_id, None)
            if session_id not in self._kept and len(self._kept) == self.max_sessions:
                oldest, _ = self._kept.popitem()
                self._proposed[oldest] = None
            self._kept[session_id] = None
            return tuple(self._proposed)

    def forget(self, session_id: Hashable) -> None:
        """Drop the record of a session."""
        with self._lock:
            self._kept.pop(session_id, None)
            self._proposed.pop(session_id, None)

    def __repr__(self) -> str:
        return f"LruEviction({self.max_sessions})"
