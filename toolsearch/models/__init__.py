"""Chat models. The SDKs they need are imported at the first request."""

from .openai.model import OpenAIChatModel

__all__ = ["OpenAIChatModel"]
