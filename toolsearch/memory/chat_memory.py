"""`ChatMemory`: conversations in a repository, and how much of them is sent."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from ..errors import AsyncCallableError, ConfigurationError
from ..messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from .repository import AnyRepository, SessionKey
from .turns import half_pairs
from .window import MemoryWindow

__all__ = ["ChatMemory"]

T = TypeVar("T")


class ChatMemory:
    """What a client remembers of its sessions; give it to a `MemoryAdvisor`. Safe from several threads.

    Args:
        repository: where conversations are kept, whole.
        window: how much of one is sent; by default all of it.

    The methods are for the application: to show, import, compact and delete conversations. With an async repository
    call the repository itself instead.

    Example:
        >>> from toolsearch import ChatClient, InMemoryRepository, MemoryAdvisor
        >>> from toolsearch.testing import ScriptedChatModel
        >>> memory = ChatMemory(InMemoryRepository())
        >>> client = ChatClient(ScriptedChatModel(["Hello!", "Ann."]), advisors=[MemoryAdvisor(memory)])
        >>> _ = client.call("I am Ann.", session_id="s1")
        >>> _ = client.call("Who am I?", session_id="s1")
        >>> [message.text for message in memory.messages("s1")]
        ['I am Ann.', 'Hello!', 'Who am I?', 'Ann.']
    """

    def __init__(self, repository: AnyRepository, window: MemoryWindow | None = None) -> None:
        if isinstance(repository, type) or not all(
            callable(getattr(repository, name, None)) for name in ("load", "append", "replace", "delete", "sessions")
        ):
            raise ConfigurationError(f"{repository!r} is not a repository: see ChatMemoryRepository for its methods")
        if window is not None and (isinstance(window, type) or not isinstance(window, MemoryWindow)):
            raise ConfigurationError(f"{window!r} is not a window; write TurnWindow(20) or TokenWindow(50_000)")
        self.repository = repository
        self.window = window

    def messages(self, session_id: str, *, tenant_id: str | None = None) -> tuple[Message, ...]:
        """Return the whole conversation as it is stored, oldest message first."""
        return tuple(_now(self.repository.load(_key(session_id, tenant_id))))

    def append(self, session_id: str, messages: Sequence[Message], *, tenant_id: str | None = None) -> None:
        """Add `messages` to the conversation, together, e.g. to import one.

        Raises:
            ConfigurationError: if they hold a tool call without its result, or the other way round.
        """
        _now(self.repository.append(_key(session_id, tenant_id), _whole(messages)))

    def replace(
        self, session_id: str, messages: Sequence[Message], *, tenant_id: str | None = None, upto: int | None = None
    ) -> None:
        """Put `messages` in the place of the conversation, e.g. a summary of it.

        A turn of the session that is going on meanwhile is stored after them when it ends. System messages among
        them are sent with every request of the session, whatever the window.

        Args:
            session_id: whose conversation.
            messages: what it is to be.
            tenant_id: the customer it belongs to.
            upto: replace only this many messages from the beginning: those that were read when `messages` was made.
                What was stored since then stays.

        Raises:
            ConfigurationError: if they hold a tool call without its result, or the other way round.
        """
        _now(self.repository.replace(_key(session_id, tenant_id), _whole(messages), upto=upto))

    def delete(self, session_id: str, *, tenant_id: str | None = None) -> None:
        """Forget the conversation."""
        _now(self.repository.delete(_key(session_id, tenant_id)))

    def sessions(self, *, tenant_id: str | None = None) -> tuple[str, ...]:
        """Return the ids of the sessions of one tenant, or of those without a tenant, sorted."""
        return tuple(key.session_id for key in _now(self.repository.sessions()) if key.tenant_id == tenant_id)


def _key(session_id: str, tenant_id: str | None) -> SessionKey:
    if not isinstance(session_id, str) or not session_id.strip():
        raise ConfigurationError(f"session_id must be a non-empty string, not {session_id!r}")
    return SessionKey(session_id, tenant_id)


def _whole(messages: Sequence[Message]) -> tuple[Message, ...]:
    kinds = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)
    strange = next((message for message in messages if not isinstance(message, kinds)), None)
    if strange is not None:
        raise ConfigurationError(f"a conversation is made of messages, not of {strange!r}")
    halves = half_pairs(messages)
    if halves:
        raise ConfigurationError(
            f"a tool call and its result are kept together; these ids have only one of the two: {', '.join(halves)}"
        )
    return tuple(messages)


def _now(result: T | Awaitable[T]) -> T:
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise AsyncCallableError("the repository is async: await its own methods instead of those of ChatMemory")
    return result
