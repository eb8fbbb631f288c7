"""`NeverEvict`: keep every session."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["NeverEvict"]


class NeverEvict:
    """Proposes nothing: sessions stay until they are cleared, so memory grows with their number.

    Right for a fixed, small number of sessions, or where the application clears each one itself.

    Example:
        >>> NeverEvict().touch("ann")
        ()
    """

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Return nothing."""
        return ()

    def forget(self, session_id: Hashable) -> None:
        """Do nothing; there is nothing to forget."""

    def __repr__(self) -> str:
        return "NeverEvict()"
