"""Eviction strategies: decide which sessions to evict, by number, by idle time, or both.

A strategy is notified of every use of a session and returns the sessions to evict. It runs no thread and removes
nothing itself. `EvictionStrategy` states the contract, and `toolsearch.testing.EvictionSuite` tests it.
"""

from __future__ import annotations

from .always import AlwaysEvict
from .composite import CompositeEviction
from .lru import LruEviction
from .never import NeverEvict
from .protocols import EvictionStrategy
from .ttl import TtlEviction

__all__ = ["AlwaysEvict", "CompositeEviction", "EvictionStrategy", "LruEviction", "NeverEvict", "TtlEviction"]
