"""TODO."""

from __future__ import annotations

from ..errors import ToolSearchError
from .responses import ChatResponse

__all__ = ["StructuredOutputError"]


class StructuredOutputError(ToolSearchError):
    """A model gave no answer of the type that was asked for; the last `OutputError` is the ``__cause__``.

    Attributes:
        response: the turn as it ended: its messages with the last answer, and the usage of all rounds and attempts.
        problem: what is wrong with that answer.
    """

    def __init__(self, message: str, *, response: ChatResponse, problem: str) -> None:
        self.response = response
        self.problem = problem
        super().__init__(message)
