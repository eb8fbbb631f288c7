"""Chat memory: what a session said before is sent with what it says now."""

from .advisor import MemoryAdvisor
from .in_memory import InMemoryRepository
from .memory import ChatMemory
from .repository import AnyRepository, AsyncChatMemoryRepository, ChatMemoryRepository, SessionKey
from .sqlite import SqliteRepository
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
