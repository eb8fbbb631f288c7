"""`TurnMemory`: what the tool loop needs of a memory that is further in than itself."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol, runtime_checkable

from ..messages import Message

__all__ = ["KeepsTurns", "TurnMemory"]


@runtime_checkable
class TurnMemory(Protocol):
    """One turn of a conversation that an advisor further in than the loop keeps and sends.

    The client makes one for each call and puts it on the request (`ChatRequest.memory`). The loop opens it, tells it
    of every round, and closes it with what memory has not seen when the turn has succeeded; only then is it stored.
    A turn that fails or is left early is never closed.

    Attributes:
        history: the earlier messages as stored, whatever part of them is sent.
    """

    @property
    def history(self) -> Sequence[Message]:
        """The earlier messages as stored, whatever part of them is sent."""
        ...

    def open(self, session_id: str | None, tenant_id: str | None) -> Generator[Any, Any, bool]:
        """Begin the turn, again if the loop is run again; False if memory does not keep it, having no session."""
        ...

    def next_round(self, messages: Sequence[Message]) -> None:
        """The loop is about to send `messages`: the whole turn, or only what memory lacks of it."""
        ...

    def conversation(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """What the model will be sent if `messages` arrive in this round."""
        ...

    def close(self, messages: Sequence[Message]) -> Generator[Any, Any, None]:
        """The turn succeeded; `messages` came after the last round was sent. Store the turn, at once."""
        ...


@runtime_checkable
class KeepsTurns(Protocol):
    """An advisor that keeps the conversation, in place of the loop where it is further in than the loop."""

    def turn_memory(self) -> TurnMemory:
        """Return what keeps one turn, fresh."""
        ...
