"""Stored conversations: load one, and compose what is sent of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..loop.effects import Effect, Perform
from ..messages import Message, SystemMessage
from .chat_memory import ChatMemory
from .repository import SessionKey
from .turns import JoinedConversation, drop_unpaired, without_system
from .window import apply_window

__all__ = ["StoredConversation", "compose_messages", "load_conversation", "split_system"]


class StoredConversation(NamedTuple):
    """A stored conversation: its system messages, such as a summary, and the rest, without unpaired calls."""

    system: tuple[Message, ...] = ()
    past: tuple[Message, ...] = ()


def load_conversation(memory: ChatMemory, key: SessionKey) -> Generator[Effect, Any, StoredConversation]:
    """Load the conversation of a session."""
    stored: Sequence[Message] = yield Perform(partial(memory.repository.load, key))
    system = tuple(message for message in stored if isinstance(message, SystemMessage))
    return StoredConversation(system, drop_unpaired(without_system(stored)))


def compose_messages(
    memory: ChatMemory, head: Sequence[Message], stored: StoredConversation, joined: JoinedConversation
) -> tuple[Message, ...]:
    """Return the messages to send: system messages, the part of the past that the window keeps, and the current turn.

    Args:
        memory: The memory with its window.
        head: The system messages at the start of the request.
        stored: The stored conversation.
        joined: The stored and the given messages without duplicates.
    """
    # The tool-calling loop moves a turn's system messages in front of what is new; those inside the turn stay in place.
    system = (message for message in dict.fromkeys((*head, *stored.system)) if message not in joined.current)
    return (*system, *apply_window(joined.past, joined.current, memory.window), *joined.current)


def split_system(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Split messages into the system messages at the beginning and the rest."""
    count = next((at for at, m in enumerate(messages) if not isinstance(m, SystemMessage)), len(messages))
    return tuple(messages[:count]), tuple(messages[count:])
