"""Combination of eviction strategies."""

from __future__ import annotations

from collections.abc import Hashable

from ..errors import ConfigurationError
from ..shared.fork import new_lock
from .protocols import EvictionStrategy, validate_strategy

__all__ = ["CompositeEviction"]


class CompositeEviction:
    """Eviction strategy that proposes a session as soon as one of several strategies does.

    All strategies see every use and every removal.

    Args:
        strategies: One or more strategies. Each belongs to this composite only.

    Raises:
        ConfigurationError: If no strategy is given, or one is not an eviction strategy.

    Example:
        >>> from toolsearch.eviction import LruEviction, TtlEviction
        >>> at_most_100_and_an_hour = CompositeEviction(LruEviction(100), TtlEviction(3600))
        >>> at_most_100_and_an_hour.touch("ann")
        ()
    """

    def __init__(self, *strategies: EvictionStrategy) -> None:
        if not strategies:
            raise ConfigurationError("CompositeEviction needs at least one strategy, e.g. LruEviction(1000)")
        for strategy in strategies:
            validate_strategy(strategy)
        self.strategies = strategies
        # All strategies see events in the same order. Otherwise a simultaneous use and removal could leave a session
        # known to one strategy and unknown to another.
        self._lock = new_lock()

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Record a use with every strategy and return all proposed sessions, each once.

        The proposals of the first strategy come first. If all strategies go by the order of use, like `LruEviction` and
        `TtlEviction`, the result is in order of last use, oldest first.
        """
        proposed: dict[Hashable, None] = {}
        with self._lock:
            for strategy in self.strategies:
                proposed.update(dict.fromkeys(strategy.touch(session_id)))
        return tuple(proposed)

    def forget(self, session_id: Hashable) -> None:
        """Drop the record of a session in every strategy."""
        with self._lock:
            for strategy in self.strategies:
                strategy.forget(session_id)

    def __repr__(self) -> str:
        return f"CompositeEviction({', '.join(map(repr, self.strategies))})"
