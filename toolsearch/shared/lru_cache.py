"""Least-recently-used cache that is bounded by the bytes of its values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from .fork import new_lock

__all__ = ["ByteLruCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_LARGEST_SHARE = 16


class ByteLruCache(Generic[K, V]):
    """Least-recently-used cache that is bounded by the bytes of its values. Thread-safe.

    A value that is larger than a sixteenth of the cache is not kept, so that one of them cannot evict all others.

    Args:
        max_bytes: The maximum of all values together.

    Example:
        >>> cache = ByteLruCache(3_200)
        >>> cache.put("a", 1, size=200), cache.put("b", 2, size=201)
        (True, True)
        >>> cache.get("a"), cache.get("b"), cache.bytes
        (1, None, 200)
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0
        self._lock = new_lock()

    @property
    def bytes(self) -> int:
        """The bytes of all values."""
        return self._bytes

    def get(self, key: K) -> V | None:
        """Return a value, or None if it is not in the cache."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, *, size: int) -> bool:
        """Store a value of `size` bytes and drop the values used least recently. Return whether the key is new."""
        with self._lock:
            _, old_size = self._entries.pop(key, (None, 0))
            self._bytes -= old_size
            if size > self.max_bytes // _LARGEST_SHARE:
                return not old_size
            self._entries[key] = value, size
            self._bytes += size
            while self._bytes > self.max_bytes:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._bytes -= dropped
            return not old_size

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._entries)
