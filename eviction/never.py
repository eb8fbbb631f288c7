"""Eviction of no session."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["NeverEvict"]


class NeverEvict:
    """Eviction strategy that proposes nothing: sessions stay until they are evicted.

    Memory grows with the number of sessions. Use it for a fixed, small number of sessions, or if the application evicts
    each session itself.

    Example:
        >>> NeverEvict().touch("ann")
        ()
    """

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Return an empty tuple."""
        return ()

    def forget(self, session_id: Hashable) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return "NeverEvict()"
