"""Locks and state that survive a fork.

A forked child has only the thread that forked. A lock that another thread held stays locked forever, and work that
another thread did never ends. So the child unlocks every lock of this library before it runs, and drops such work.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

__all__ = ["Forkable", "new_lock", "reset_in_child"]


class Forkable(Protocol):
    """An object with state that a forked child must not inherit."""

    def reset_after_fork(self) -> None:
        """Drop what belongs to threads of the parent. Must not take locks, wait or raise."""
        ...


_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()
_forkable: weakref.WeakSet[Forkable] = weakref.WeakSet()


def new_lock() -> threading.Lock:
    """Return a new lock. A forked child finds it unlocked."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def reset_in_child(owner: Forkable) -> None:
    """Call `owner.reset_after_fork()` in every forked child. Does not keep `owner` alive."""
    _forkable.add(owner)


def _reset_all() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # the standard library uses it for its own locks
    for owner in list(_forkable):
        owner.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
