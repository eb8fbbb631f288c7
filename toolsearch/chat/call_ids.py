"""Ids of tool calls: unique in every conversation, whatever the model sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..messages import AssistantMessage, Message

__all__ = ["CallIds", "with_unique_ids"]


class CallIds:
    """Unique ids for the tool calls of an answer, also if the provider sent no id or an id that was used before.

    Some servers number the calls of every answer from 0. Generated ids depend on the conversation only.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._taken = {call.id for one in messages if isinstance(one, AssistantMessage) for call in one.tool_calls}
        self._number = len(messages)

    def take(self, given: object) -> str:
        """Return `given` if it is not empty and not used yet, else a new id."""
        given = "" if given is None else str(given)
        if given and given not in self._taken:
            self._taken.add(given)
            return given
        while (made := f"call_{self._number}") in self._taken:
            self._number += 1
        self._taken.add(made)
        return made


def with_unique_ids(message: AssistantMessage, conversation: Sequence[Message]) -> AssistantMessage:
    """Return an answer whose tool calls have ids of their own in the conversation; the same object if they have.

    Results belong to calls by their ids, and applications note approvals by them. So an equal or empty id would let a
    result or an approval count for another call.

    Args:
        message: The answer of the model.
        conversation: The messages that the model received.
    """
    if not message.tool_calls:
        return message
    ids = CallIds(conversation)
    unique = tuple(replace(call, id=ids.take(call.id)) for call in message.tool_calls)
    return message if unique == message.tool_calls else replace(message, tool_calls=unique)
