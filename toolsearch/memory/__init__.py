"""Chat memory: the stored conversation of a session is sent with each new message.

Example:
    >>> from toolsearch import ChatClient
    >>> from toolsearch.testing import ScriptedChatModel
    >>> memory = ChatMemory(InMemoryRepository(), TurnWindow(20))
    >>> client = ChatClient(ScriptedChatModel(["Hello!"]), advisors=[MemoryAdvisor(memory)])
    >>> _ = client.call("I am Ann.", session_id="s1")
    >>> [message.text for message in memory.messages("s1")]
    ['I am Ann.', 'Hello!']
"""

from .advisor import MemoryAdvisor
from .chat_memory import ChatMemory
from .in_memory_repository import InMemoryRepository
from .repository import (
    AnyRepository,
    AsyncChatMemoryRepository,
    ChatMemoryRepository,
    ConversationInfo,
    DatedRepository,
    SessionKey,
)
from .sqlite_repository import SqliteRepository
from .window import MemoryWindow, MessageWindow, TokenWindow, TurnWindow

__all__ = [
    "AnyRepository",
    "AsyncChatMemoryRepository",
    "ChatMemory",
    "ChatMemoryRepository",
    "ConversationInfo",
    "DatedRepository",
    "InMemoryRepository",
    "MemoryAdvisor",
    "MemoryWindow",
    "MessageWindow",
    "SessionKey",
    "SqliteRepository",
    "TokenWindow",
    "TurnWindow",
]
