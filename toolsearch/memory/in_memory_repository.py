"""Conversations in the memory of this process."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import Message
from ..shared.fork import new_lock
from .repository import SessionKey, sorted_keys

__all__ = ["InMemoryRepository"]


class InMemoryRepository:
    """Repository in memory: conversations last until they are deleted or the process ends. Safe from several threads.

    Example:
        >>> from toolsearch import UserMessage
        >>> repository = InMemoryRepository()
        >>> repository.append(SessionKey("ann"), [UserMessage("Hi")])
        >>> [message.text for message in repository.load(SessionKey("ann"))]
        ['Hi']
    """

    def __init__(self) -> None:
        self._conversations: dict[SessionKey, list[Message]] = {}
        self._lock = new_lock()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._conversations)} conversations>"

    def load(self, key: SessionKey) -> Sequence[Message]:
        """Return the conversation, oldest message first; empty if there is none."""
        with self._lock:
            return tuple(self._conversations.get(key, ()))

    def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        """Add `messages` at the end, together."""
        added = tuple(messages)
        with self._lock:
            if added:
                self._conversations.setdefault(key, []).extend(added)

    def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> None:
        """Replace the first `upto` messages, or all of them if `upto` is None."""
        added = tuple(messages)
        with self._lock:
            later = [] if upto is None else self._conversations.get(key, [])[max(0, upto) :]
            if added or later:
                self._conversations[key] = [*added, *later]
            else:
                self._conversations.pop(key, None)

    def delete(self, key: SessionKey) -> None:
        """Delete the conversation. An unknown one is ignored."""
        with self._lock:
            self._conversations.pop(key, None)

    def sessions(self) -> Sequence[SessionKey]:
        """Return the keys of all conversations that have messages, sorted by tenant (None first) and session."""
        with self._lock:
            keys = list(self._conversations)
        return sorted_keys(keys)
