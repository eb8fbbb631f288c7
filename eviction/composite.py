"""`CompositeEviction`: several strategies at once."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock

from ..errors import ConfigurationError
from .protocols import EvictionStrategy, checked_strategy

__all__ = ["CompositeEviction"]


class CompositeEviction:
    """Proposes a session as soon as any of its strategies does; all of them see every use and every removal.

    Args:
        strategies: at least one; each belongs to this composite alone.

    Raises:
        ConfigurationError: if there is none, or one is not an eviction strategy.

    Example:
        >>> from toolsearch.eviction import LruEviction, TtlEviction
        >>> at_most_100_and_an_hour = CompositeEviction(LruEviction(100), TtlEviction(3600))
        >>> at_most_100_and_an_hour.touch("ann")
        ()
    """

    def __init__(self, *strategies: EvictionStrategy) -> None:
        if not strategies:
            raise ConfigurationError("CompositeEviction needs at least one strategy, e.g. LruEviction(1000)")
        self.strategies = tuple(checked_strategy(strategy) for strategy in strategies)
        # One order of events for all strategies: otherwise a use and a removal at the same moment could leave a
        # session known to one and unknown to another.
        self._lock = Lock()

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        """Record a use with every strategy and return all that any of them proposes, each once.

        What the first strategy proposes comes first; of strategies that go by the order of use, as `LruEviction` and
        `TtlEviction` do, that is oldest first over all.
        """
        proposed: dict[Hashable, None] = {}
        with self._lock:
            for strategy in self.strategies:
                proposed.update(dict.fromkeys(strategy.touch(session_id)))
        return tuple(proposed)

    def forget(self, session_id: Hashable) -> None:
        """Tell every strategy that `session_id` is gone."""
        with self._lock:
            for strategy in self.strategies:
                strategy.forget(session_id)

    def __repr__(self) -> str:
        return f"CompositeEviction({', '.join(map(repr, self.strategies))})"
