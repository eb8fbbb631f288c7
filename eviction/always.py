"""`AlwaysEvict`: keep nothing beyond its use."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock

__all__ = ["AlwaysEvict"]


class AlwaysEvict:
    """Proposes every session at once, the one being used included: nothing outlives the turn it serves.

    This is the one strategy that proposes the current session, on purpose. Use it where sessions never come back, or
    to find out what a program does without them.

    Example:
        >>> AlwaysEvict().touch("ann")
        ('ann',)
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._proposed: dict[Hashable, None] = {}

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Return every session not yet forgotten in order of use, `session_id` last."""
        with self._lock:
            self._proposed.pop(session_id, None)
            self._proposed[session_id] = None
            return tuple(self._proposed)

    def forget(self, session_id: Hashable) -> None:
        """Drop what is known of `session_id`."""
        with self._lock:
            self._proposed.pop(session_id, None)

    def __repr__(self) -> str:
        return "AlwaysEvict()"
