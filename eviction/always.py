"""Eviction of every session after its use."""

from __future__ import annotations

from collections.abc import Hashable

from ..shared.fork import new_lock

__all__ = ["AlwaysEvict"]


class AlwaysEvict:
    """Eviction strategy that proposes every session at once, including the one in use.

    No session outlives the turn that uses it. No other strategy proposes the current session. Use it if sessions never
    come back, or to test a program without kept sessions.

    Example:
        >>> AlwaysEvict().touch("ann")
        ('ann',)
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._proposed: dict[Hashable, None] = {}

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Record a use of a session and return all sessions that are not forgotten yet, the current one last."""
        with self._lock:
            self._proposed.pop(session_id, None)
            self._proposed[session_id] = None
            return tuple(self._proposed)

    def forget(self, session_id: Hashable) -> None:
        """Drop the record of a session."""
        with self._lock:
            self._proposed.pop(session_id, None)

    def __repr__(self) -> str:
        return "AlwaysEvict()"
