"""Protocol of eviction strategies."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, runtime_checkable

from ..errors import ConfigurationError

__all__ = ["EvictionStrategy", "tenant_of_key", "validate_strategy"]


@runtime_checkable
class EvictionStrategy(Protocol):
    """Decides which sessions to evict. It acts only when a session is used and runs no thread.

    A strategy proposes sessions; their owner removes them and confirms each removal with `forget`. A session in the
    middle of a turn stays until the turn ends. Every `touch` proposes a session again until `forget` confirms its
    removal or the session is used again. `touch` never proposes its own session; only `AlwaysEvict` does.

    One strategy serves one table of sessions. Implementations are thread-safe and fast, and do not call that table.
    """

    def touch(self, session_id: Hashable) -> Sequence[Hashable]:
        """Record a use of a session now and return the sessions to evict, oldest first."""
        ...

    def forget(self, session_id: Hashable) -> None:
        """Drop the record of a removed session, whoever removed it. Ignore an unknown id."""
        ...


def tenant_of_key(key: Hashable) -> Hashable:
    """Return the tenant in the key of a session: the first item of a pair, and None for any other key."""
    return key[0] if isinstance(key, tuple) and len(key) == 2 else None


def validate_strategy(eviction: EvictionStrategy) -> None:
    """Validate that an object is an eviction strategy.

    Raises:
        ConfigurationError: If it lacks a method or is a class.
    """
    if isinstance(eviction, type) or not isinstance(eviction, EvictionStrategy):
        raise ConfigurationError(
            f"an eviction strategy must be an instance (not a class) with the methods touch and forget, "
            f"got {eviction!r}"
        )
