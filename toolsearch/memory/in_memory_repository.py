"""Conversations in the memory of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from ..messages import Message
from ..shared.fork import new_lock
from .repository import ConversationInfo, SessionKey, sorted_keys, utc_now

__all__ = ["InMemoryRepository"]


class InMemoryRepository:
    """Repository in memory: conversations last until they are deleted or the process ends. Safe from several threads.

    Args:
        now: Returns the current time, for tests.

    Example:
        >>> from toolsearch import UserMessage
        >>> repository = InMemoryRepository()
        >>> repository.append(SessionKey("ann"), [UserMessage("Hi")])
        >>> [message.text for message in repository.load(SessionKey("ann"))]
        ['Hi']
    """

    def __init__(self, *, now: Callable[[], datetime] = utc_now) -> None:
        self._conversations: dict[SessionKey, list[Message]] = {}
        self._times: dict[SessionKey, tuple[datetime, datetime]] = {}  # created and updated
        self._now = now
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
                self._touch(key)

    def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> None:
        """Replace the first `upto` messages, or all of them if `upto` is None."""
        added = tuple(messages)
        with self._lock:
            later = [] if upto is None else self._conversations.get(key, [])[max(0, upto) :]
            if added or later:
                self._conversations[key] = [*added, *later]
                self._touch(key)
            else:
                self._delete(key)

    def delete(self, key: SessionKey) -> None:
        """Delete the conversation. An unknown one is ignored."""
        with self._lock:
            self._delete(key)

    def sessions(self) -> Sequence[SessionKey]:
        """Return the keys of all conversations that have messages, sorted by tenant (None first) and session."""
        with self._lock:
            keys = list(self._conversations)
        return sorted_keys(keys)

    def conversations(self, tenant_id: str | None, *, limit: int | None = None) -> Sequence[ConversationInfo]:
        """Return the conversations of a tenant, or those without a tenant, latest change first."""
        with self._lock:
            found = [ConversationInfo(key, *times) for key, times in self._times.items() if key.tenant_id == tenant_id]
        found.sort(key=lambda info: info.updated)
        return tuple(found[::-1][:limit])

    def delete_unchanged(self, age: timedelta) -> Sequence[SessionKey]:
        """Delete the conversations of all tenants that were not changed for `age`, and return their keys."""
        moment = self._now() - age
        with self._lock:
            keys = [key for key, (_, updated) in self._times.items() if updated < moment]
            for key in keys:
                self._delete(key)
        return sorted_keys(keys)

    def _touch(self, key: SessionKey) -> None:
        now = self._now()
        created, _ = self._times.pop(key, (now, now))  # moved to the end: the latest change
        self._times[key] = (created, now)

    def _delete(self, key: SessionKey) -> None:
        self._conversations.pop(key, None)
        self._times.pop(key, None)
