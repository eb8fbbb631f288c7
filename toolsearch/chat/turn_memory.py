"""Interface between the tool-calling loop and a memory advisor inside it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol, runtime_checkable

from ..messages import Message
from .turn_record import TurnRecord

__all__ = ["TurnMemory", "TurnMemoryProvider"]


@runtime_checkable
class TurnMemory(Protocol):
    """One turn of a conversation that a memory advisor inside the tool-calling loop stores and sends.

    The client makes one for each call. The loop opens it, announces every round, and closes it with the last messages
    when the turn has succeeded. A turn that fails or is left early is never closed: memory registers what to store
    of it in `record`.

    Attributes:
        history: The earlier messages as stored, no matter which part of them is sent.
    """

    @property
    def history(self) -> Sequence[Message]:
        """The earlier messages as stored, no matter which part of them is sent."""
        ...

    def open(
        self, session_id: str | None, tenant_id: str | None, record: TurnRecord | None = None
    ) -> Generator[Any, Any, bool]:
        """Begin the turn, or begin it again if the loop is run again. Return whether memory stores it."""
        ...

    def next_round(self, messages: Sequence[Message]) -> None:
        """Announce that the loop is about to send `messages`: the whole turn, or only what memory does not have yet."""
        ...

    def conversation(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return what the model is sent if `messages` arrive in this round."""
        ...

    def close(self, messages: Sequence[Message]) -> Generator[Any, Any, None]:
        """Store the turn, which has succeeded; `messages` came after the last round was sent."""
        ...


@runtime_checkable
class TurnMemoryProvider(Protocol):
    """An advisor that stores the conversation, in place of the loop if it is inside the loop."""

    def turn_memory(self) -> TurnMemory:
        """Return a new `TurnMemory` for one turn."""
        ...
