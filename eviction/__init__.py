"""Which sessions to forget, and when: by number, by idle time, or both.

A strategy is told of every use of a session and answers with the sessions that should go. It owns no thread and
removes nothing itself; see `EvictionStrategy` for the contract and `toolsearch.testing.EvictionSuite` for its tests.
"""

from __future__ import annotations

from .always import AlwaysEvict
from .composite import CompositeEviction
from .lru import LruEviction
from .never import NeverEvict
from .protocols import EvictionStrategy
from .ttl import TtlEviction

__all__ = ["AlwaysEvict", "CompositeEviction", "EvictionStrategy", "LruEviction", "NeverEvict", "TtlEviction"]
