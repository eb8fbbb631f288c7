"""Errors that carry a chat response."""

from __future__ import annotations

from ..errors import ToolSearchError
from .responses import ChatResponse

__all__ = ["StructuredOutputError"]


class StructuredOutputError(ToolSearchError):
    """A turn without an answer of the requested type; the last `OutputError` is the ``__cause__``.

    Attributes:
        response: The turn so far: its messages with the last answer, and the usage of all rounds and attempts.
        rejected: The last answer, as the model gave it.
        problem: What is wrong with the last answer.
    """

    response: ChatResponse
    rejected: ChatResponse

    def __init__(self, message: str, *, response: ChatResponse, problem: str) -> None:
        self.response = self.rejected = response
        self.problem = problem
        super().__init__(message)
