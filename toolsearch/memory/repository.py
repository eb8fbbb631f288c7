"""`ChatMemoryRepository`: where conversations are kept."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..messages import Message

__all__ = ["AnyRepository", "AsyncChatMemoryRepository", "ChatMemoryRepository", "SessionKey"]


class SessionKey(NamedTuple):
    """Whose conversation it is. Sessions of one id but of several tenants are different conversations.

    Example:
        >>> SessionKey("ann") == SessionKey("ann", tenant_id="acme")
        False
    """

    session_id: str
    tenant_id: str | None = None


@runtime_checkable
class ChatMemoryRepository(Protocol):
    """Keeps conversations as sequences of messages, whatever the messages are. Safe from several threads.

    Every method does all it has to do or nothing, and what one has done the next one sees, from any thread. An unknown
    session is an empty conversation. `toolsearch.testing.ChatMemoryRepositorySuite` is this contract as tests.
    """

    def load(self, key: SessionKey) -> Sequence[Message]:
        """Return the conversation, oldest message first."""
        ...

    def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        """Add `messages` at the end, together: those of a parallel call come before or after all of them."""
        ...

    def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> None:
        """Put `messages` in the place of the first `upto` messages, or of all; what came later stays after them."""
        ...

    def delete(self, key: SessionKey) -> None:
        """Forget the conversation."""
        ...

    def sessions(self) -> Sequence[SessionKey]:
        """Return the keys of all conversations that have messages, sorted by tenant (None first) and session."""
        ...


@runtime_checkable
class AsyncChatMemoryRepository(Protocol):
    """A `ChatMemoryRepository` whose methods are async; it works with `acall` and `astream` only."""

    def load(self, key: SessionKey) -> Awaitable[Sequence[Message]]:
        """Return the conversation, oldest message first."""
        ...

    def append(self, key: SessionKey, messages: Sequence[Message]) -> Awaitable[None]:
        """Add `messages` at the end, together."""
        ...

    def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> Awaitable[None]:
        """Put `messages` in the place of the first `upto` messages, or of all."""
        ...

    def delete(self, key: SessionKey) -> Awaitable[None]:
        """Forget the conversation."""
        ...

    def sessions(self) -> Awaitable[Sequence[SessionKey]]:
        """Return the keys of all conversations that have messages."""
        ...


AnyRepository: TypeAlias = ChatMemoryRepository | AsyncChatMemoryRepository


def sorted_keys(keys: Sequence[SessionKey]) -> tuple[SessionKey, ...]:
    """The keys by tenant, None first, and session."""
    return tuple(sorted(keys, key=lambda key: (key.tenant_id is not None, key.tenant_id or "", key.session_id)))
