"""`OpenAIChatModel`."""

from .model import OpenAIChatModel

__all__ = ["OpenAIChatModel"]
