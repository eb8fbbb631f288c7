"""What an eviction strategy is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, runtime_checkable

from ..errors import ConfigurationError

__all__ = ["EvictionStrategy", "checked_strategy"]


@runtime_checkable
class EvictionStrategy(Protocol):
    """Decides which sessions to forget. Lazy: it acts only when a session is used; it owns no thread.

    A strategy proposes and is told; it never removes anything itself. What it proposed stays proposed, on every later
    `touch`, until `forget` confirms it (a session in the middle of a turn is kept until the turn ends) or the session
    is used again. The session being touched is not proposed by its own touch; `AlwaysEvict` alone differs, on purpose.
    One strategy serves one table of sessions. Implementations are safe to call from several threads, quick, and do not
    call back into that table.
    """

    def touch(self, session_id: Hashable) -> Sequence[Hashable]:
        """Record a use of `session_id`, now, and return the sessions to forget, oldest first."""
        ...

    def forget(self, session_id: Hashable) -> None:
        """Take note that `session_id` is gone, whoever removed it. An unknown id is ignored."""
        ...


def checked_strategy(eviction: EvictionStrategy) -> EvictionStrategy:
    """Return `eviction` if it is a strategy.

    Raises:
        ConfigurationError: if it lacks a method or is a class.
    """
    if isinstance(eviction, type) or not isinstance(eviction, EvictionStrategy):
        raise ConfigurationError(
            f"{eviction!r} is not an eviction strategy: it needs the methods touch and forget, "
            "and it must be an instance, not a class"
        )
    return eviction
