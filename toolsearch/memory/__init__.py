"""Chat memory: what a session said before is sent with what it says now."""

from .advisor import MemoryAdvisor
from .chat_memory import ChatMemory
from .in_memory_repository import InMemoryRepository
from .repository import AnyRepository, AsyncChatMemoryRepository, ChatMemoryRepository, SessionKey
from .sqlite_repository import SqliteRepository
from .window import MemoryWindow, TokenWindow, TurnWindow

__all__ = [
    "AnyRepository",
    "AsyncChatMemoryRepository",
    "ChatMemory",
    "ChatMemoryRepository",
    "InMemoryRepository",
    "MemoryAdvisor",
    "MemoryWindow",
    "SessionKey",
    "SqliteRepository",
    "TokenWindow",
    "TurnWindow",
]
