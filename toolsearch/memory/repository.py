"""Repository protocols: storage for conversations, sync and async."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..messages import Message

__all__ = [
    "AnyRepository",
    "AsyncChatMemoryRepository",
    "ChatMemoryRepository",
    "ConversationInfo",
    "DatedRepository",
    "SessionKey",
    "sorted_keys",
    "utc_now",
]


class SessionKey(NamedTuple):
    """Key of a conversation: a session of one tenant. Equal session ids of two tenants are different conversations.

    Args:
        session_id: The session id.
        tenant_id: The tenant that the session belongs to, or None.

    Example:
        >>> SessionKey("ann") == SessionKey("ann", tenant_id="acme")
        False
    """

    session_id: str
    tenant_id: str | None = None


class ConversationInfo(NamedTuple):
    """A stored conversation and its times, in UTC.

    Args:
        key: The key of the conversation.
        created: When its first message was stored.
        updated: When it was changed last.

    Example:
        >>> from toolsearch.memory import InMemoryRepository
        >>> repository = InMemoryRepository()
        >>> repository.append(SessionKey("ann"), [])
        >>> repository.conversations(None)
        ()
    """

    key: SessionKey
    created: datetime
    updated: datetime


@runtime_checkable
class ChatMemoryRepository(Protocol):
    """Storage for conversations, which are sequences of messages of any kind. Safe from several threads.

    Every method is atomic: it takes effect as a whole or not at all, and later calls from any thread see its effect.
    An unknown session is an empty conversation. `toolsearch.testing.ChatMemoryRepositorySuite` tests this contract.

    Example:
        >>> from toolsearch.memory import InMemoryRepository
        >>> isinstance(InMemoryRepository(), ChatMemoryRepository)
        True
    """

    def load(self, key: SessionKey) -> Sequence[Message]:
        """Return the conversation, oldest message first; empty if there is none."""
        ...

    def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        """Add `messages` at the end, together: messages of a parallel call come before or after all of them."""
        ...

    def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> None:
        """Replace the first `upto` messages, or all of them if `upto` is None. Later ones stay at the end."""
        ...

    def delete(self, key: SessionKey) -> None:
        """Delete the conversation. An unknown one is ignored."""
        ...

    def sessions(self) -> Sequence[SessionKey]:
        """Return the keys of all conversations that have messages, sorted by tenant (None first) and session."""
        ...


@runtime_checkable
class AsyncChatMemoryRepository(Protocol):
    """A `ChatMemoryRepository` with async methods. It works with `acall` and `astream` only.

    Example:
        >>> from toolsearch.memory import InMemoryRepository
        >>> class AsyncInMemoryRepository:
        ...     def __init__(self):
        ...         self.inner = InMemoryRepository()
        ...     async def load(self, key):
        ...         return self.inner.load(key)
        ...     async def append(self, key, messages):
        ...         self.inner.append(key, messages)
        ...     async def replace(self, key, messages, *, upto=None):
        ...         self.inner.replace(key, messages, upto=upto)
        ...     async def delete(self, key):
        ...         self.inner.delete(key)
        ...     async def sessions(self):
        ...         return self.inner.sessions()
        >>> isinstance(AsyncInMemoryRepository(), AsyncChatMemoryRepository)
        True
    """

    def load(self, key: SessionKey) -> Awaitable[Sequence[Message]]:
        """Return the conversation, oldest message first; empty if there is none."""
        ...

    def append(self, key: SessionKey, messages: Sequence[Message]) -> Awaitable[None]:
        """Add `messages` at the end, together."""
        ...

    def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> Awaitable[None]:
        """Replace the first `upto` messages, or all of them if `upto` is None."""
        ...

    def delete(self, key: SessionKey) -> Awaitable[None]:
        """Delete the conversation. An unknown one is ignored."""
        ...

    def sessions(self) -> Awaitable[Sequence[SessionKey]]:
        """Return the keys of all conversations that have messages, sorted by tenant (None first) and session."""
        ...


@runtime_checkable
class DatedRepository(Protocol):
    """A repository that knows when its conversations were stored. Repositories need not be dated.

    The methods of an async repository are async.

    Example:
        >>> from toolsearch.memory import InMemoryRepository
        >>> isinstance(InMemoryRepository(), DatedRepository)
        True
    """

    def conversations(self, tenant_id: str | None, *, limit: int | None = None) -> Any:
        """Return the `ConversationInfo` of a tenant's conversations, or those without a tenant, latest change first."""
        ...

    def delete_unchanged(self, age: timedelta) -> Any:
        """Delete the conversations of all tenants that were not changed for `age`. Return their keys."""
        ...


AnyRepository: TypeAlias = ChatMemoryRepository | AsyncChatMemoryRepository
"""A sync or an async repository."""


def sorted_keys(keys: Sequence[SessionKey]) -> tuple[SessionKey, ...]:
    """Sort keys by tenant, None first, and session."""
    return tuple(sorted(keys, key=lambda key: (key.tenant_id is not None, key.tenant_id or "", key.session_id)))


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)
