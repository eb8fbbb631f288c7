"""Chat completions of OpenAI, and of servers that use the same format."""

from .model import OpenAIChatModel

__all__ = ["OpenAIChatModel"]
