"""Chat client: `ChatClient`, its streams, and its configuration by environment variables (extra ``settings``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .client import CallArguments, CallOptions, ChatClient
from .messages_argument import MessageLike
from .streams import AsyncChatStream, ChatStream

if TYPE_CHECKING:
    from .settings import ToolSearchSettings

__all__ = [
    "AsyncChatStream",
    "CallArguments",
    "CallOptions",
    "ChatClient",
    "ChatStream",
    "MessageLike",
    "ToolSearchSettings",
]


def __getattr__(name: str) -> Any:
    """Import `ToolSearchSettings` on first use, so that importing the package does not import pydantic-settings."""
    if name == "ToolSearchSettings":
        from .settings import ToolSearchSettings

        return ToolSearchSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
