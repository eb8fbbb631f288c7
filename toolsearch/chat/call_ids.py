"""Ids of tool calls: unique in every answer, whatever the model sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..messages import AssistantMessage, Message

__all__ = ["CallIds", "with_unique_ids"]


class CallIds:
    """Unique ids for the tool calls of an answer, also if the provider sent no id or the same id twice.

    Generated ids depend on the conversation only, and differ from all ids in it.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._taken: set[str] = set()
        self._in_use: set[str] | None = None
        self._number = len(messages)

    def take(self, given: object) -> str:
        """Return `given` if it is not empty and not used yet, else a new id."""
        given = "" if given is None else str(given)
        if given and given not in self._taken:
            self._taken.add(given)
            return given
        if self._in_use is None:
            assistants = (m for m in self._messages if isinstance(m, AssistantMessage))
            self._in_use = {call.id for message in assistants for call in message.tool_calls}
        while (made := f"call_{self._number}") in self._in_use or made in self._taken:
            self._number += 1
        self._taken.add(made)
        return made


def with_unique_ids(message: AssistantMessage, conversation: Sequence[Message]) -> AssistantMessage:
    """Return an answer whose tool calls have distinct ids; the same object if they have.

    Results belong to calls by their ids, so equal or empty ids would let a result count for another call.

    Args:
        message: The answer of the model.
        conversation: The messages that the model received.
    """
    given = [call.id for call in message.tool_calls]
    if all(given) and len(set(given)) == len(given):
        return message
    ids = CallIds(conversation)
    return replace(message, tool_calls=tuple(replace(call, id=ids.take(call.id)) for call in message.tool_calls))
