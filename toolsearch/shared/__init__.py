"""State that threads share: locks that survive a fork, and a cache with a limit in bytes."""

from .fork import Forkable, new_lock, reset_in_child
from .lru_cache import ByteLruCache

__all__ = ["ByteLruCache", "Forkable", "new_lock", "reset_in_child"]
