"""Chat memory: a repository of conversations and the window that limits what is sent."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from ..errors import AsyncCallableError, ConfigurationError
from ..messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from .repository import AnyRepository, ConversationInfo, DatedRepository, SessionKey
from .turns import unpaired_call_ids
from .window import MemoryWindow

__all__ = ["ChatMemory"]

T = TypeVar("T")


class ChatMemory:
    """Conversations of a client's sessions, for a `MemoryAdvisor`. Safe from several threads.

    The methods are for the application: to show, import, compact and delete conversations. With an async repository,
    call the repository's own methods instead.

    Args:
        repository: The storage, which keeps whole conversations.
        window: The limit of what is sent of a conversation. By default, all of it is sent.

    Attributes:
        is_checked: Whether it was checked that the repository keeps tool messages: after the first turn that has some.

    Raises:
        ConfigurationError: If an argument is not a repository or a window.

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
            raise ConfigurationError(
                f"repository must be an instance with the methods of ChatMemoryRepository, got {repository!r}; "
                "write InMemoryRepository() or SqliteRepository(path)"
            )
        if window is not None and (isinstance(window, type) or not isinstance(window, MemoryWindow)):
            raise ConfigurationError(
                f"window must be an instance with a method keep(), got {window!r}; "
                "write TurnWindow(20) or TokenWindow(50_000)"
            )
        self.repository = repository
        self.window = window
        self.is_checked = False

    def __repr__(self) -> str:
        window = "" if self.window is None else f", window={type(self.window).__name__}"
        return f"{type(self).__name__}({self.repository!r}{window})"

    def messages(self, session_id: str, *, tenant_id: str | None = None) -> tuple[Message, ...]:
        """Return the whole stored conversation, oldest message first."""
        return tuple(_sync_result(self.repository.load(_session_key(session_id, tenant_id))))

    def append(self, session_id: str, messages: Sequence[Message], *, tenant_id: str | None = None) -> None:
        """Add `messages` to the conversation, together; for example to import one.

        Raises:
            ConfigurationError: If they hold a tool call without its result, or a result without its call.
        """
        _validate_conversation(messages)
        _sync_result(self.repository.append(_session_key(session_id, tenant_id), tuple(messages)))

    def replace(
        self, session_id: str, messages: Sequence[Message], *, tenant_id: str | None = None, upto: int | None = None
    ) -> None:
        """Replace the conversation, for example by a summary of it.

        A turn of the session that runs meanwhile is stored after `messages` when it ends. System messages among
        them are sent with every request of the session, whatever the window.

        Args:
            session_id: The session.
            messages: The new messages.
            tenant_id: The tenant that the session belongs to.
            upto: The number of messages to replace, counted from the oldest: those that the caller has read to make
                `messages`. Messages stored since then stay. None replaces all.

        Raises:
            ConfigurationError: If they hold a tool call without its result, or a result without its call.
        """
        _validate_conversation(messages)
        _sync_result(self.repository.replace(_session_key(session_id, tenant_id), tuple(messages), upto=upto))

    def delete(self, session_id: str, *, tenant_id: str | None = None) -> None:
        """Delete the conversation. An unknown one is ignored."""
        _sync_result(self.repository.delete(_session_key(session_id, tenant_id)))

    def sessions(self, *, tenant_id: str | None = None) -> tuple[str, ...]:
        """Return the sorted ids of the sessions of one tenant, or of those without a tenant."""
        keys = _sync_result(self.repository.sessions())
        return tuple(key.session_id for key in keys if key.tenant_id == tenant_id)

    def conversations(self, *, tenant_id: str | None = None, limit: int | None = None) -> tuple[ConversationInfo, ...]:
        """Return the conversations of one tenant, or those without a tenant, with their times, latest change first.

        Args:
            tenant_id: The tenant.
            limit: The maximum number to return. None returns all.

        Raises:
            ConfigurationError: If the repository is not a `DatedRepository`.
        """
        return tuple(_sync_result(_dated(self.repository).conversations(tenant_id, limit=limit)))

    def delete_unchanged(self, age: timedelta) -> tuple[SessionKey, ...]:
        """Delete the conversations of all tenants that were not changed for `age`, and return their keys.

        Raises:
            ConfigurationError: If the repository is not a `DatedRepository`.
        """
        if not isinstance(age, timedelta):
            raise ConfigurationError(f"age must be a timedelta, got {age!r}; write timedelta(days=90)")
        return tuple(_sync_result(_dated(self.repository).delete_unchanged(age)))


def _dated(repository: AnyRepository) -> Any:
    if not isinstance(repository, DatedRepository):
        raise ConfigurationError(
            f"{type(repository).__name__} does not know the times of its conversations; "
            "add the methods of DatedRepository to it"
        )
    return repository


def _session_key(session_id: str, tenant_id: str | None) -> SessionKey:
    if not isinstance(session_id, str) or not session_id.strip():
        raise ConfigurationError(f"session_id must be a non-empty string, got {session_id!r}")
    return SessionKey(session_id, tenant_id)


def _validate_conversation(messages: Sequence[Message]) -> None:
    kinds = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)
    for message in messages:
        if not isinstance(message, kinds):
            raise ConfigurationError(f"messages must be message objects, got {message!r}; write UserMessage(text)")
    unpaired = unpaired_call_ids(messages)
    if unpaired:
        raise ConfigurationError(
            f"messages must hold each tool call together with its result; unpaired ids: {', '.join(unpaired)}"
        )


def _sync_result(result: T | Awaitable[T]) -> T:
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise AsyncCallableError("the repository is async: await its own methods instead of those of ChatMemory")
    return result
