"""Traces of tool search in a conversation: the tools that it revealed, and the tokens that searching cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from ..chat.tokens import TokenCounter
from ..messages import AssistantMessage, Message, ToolMessage
from .sentences import SEARCH_TOOL
from .sessions.tool_set import ToolSet

__all__ = ["MessageTokens", "revealed_in"]

_LISTED_NAME = re.compile(r"^- ([a-zA-Z0-9_-]{1,64})(?:$|: )", re.MULTILINE)


def revealed_in(messages: Sequence[Message], tools: ToolSet, *, latest_only: bool = False) -> tuple[str, ...]:
    """Return the tools that a conversation revealed, in the order in which it did.

    `ToolMessage.revealed` says what a result revealed. A tool that was called and ran counts as revealed too. Within
    one batch of calls, tools that were called directly come first, as they do when it happens.

    `ToolMessage.tools` says which tools the names meant. A name without such an entry, in a conversation of an older
    version, counts for the tool that has exactly this name now.

    Args:
        messages: The conversation.
        tools: The tools that exist now. Other tools are ignored.
        latest_only: Whether only the latest batch with a search counts, and what follows it.

    Returns:
        The present names of the tools.
    """
    found: dict[str, None] = {}
    for is_batch, group in groupby(messages, key=lambda message: isinstance(message, ToolMessage)):
        if not is_batch:
            continue
        batch = [message for message in group if isinstance(message, ToolMessage)]
        revealed = [_revealed_by(message) for message in batch]
        searched = any(
            message.name == SEARCH_TOOL and names is not None for message, names in zip(batch, revealed, strict=True)
        )
        if latest_only and searched:
            found.clear()
        called = ((message, message.name) for message in batch if message.name != SEARCH_TOOL and not message.is_error)
        listed = ((message, name) for message, names in zip(batch, revealed, strict=True) for name in names or ())
        meant = (_present_name(message, name, tools) for message, name in (*called, *listed))
        found.update(dict.fromkeys(name for name in meant if name is not None))
    return tuple(found)


def _present_name(message: ToolMessage, name: str, tools: ToolSet) -> str | None:
    """Return the present name of the tool that `name` meant in a message, or None if it does not exist any more."""
    version = next((version for version in message.tools if version.name == name), None)
    tool = tools.get(name) if version is None else tools.find(version.identity)
    return None if tool is None else tool.name


def _revealed_by(message: ToolMessage) -> tuple[str, ...] | None:
    """Return the tools that a result revealed, or None if it is not the result of a search that ran."""
    if message.revealed is not None or message.name != SEARCH_TOOL or message.is_error:
        return message.revealed
    return names_listed_in(message.text) or None


def names_listed_in(text: str) -> tuple[str, ...]:
    """Return the tool names that a search result without a marker lists.

    Only conversations from elsewhere need this: stored by an older version, or rebuilt by an application.
    """
    return tuple(dict.fromkeys(_LISTED_NAME.findall(text)))


class MessageTokens:
    """Token counts of a conversation that grows; each message is counted once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._counted: dict[int, tuple[Message, int, int]] = {}

    def count(self, messages: Iterable[Message]) -> tuple[int, int]:
        """Return the tokens of the messages, and of the part that only tool search put there."""
        total = overhead = 0
        for message in messages:
            entry = self._counted.get(id(message))
            if entry is None:
                # The entry holds the message, so that its id cannot become that of another one.
                entry = self._counted[id(message)] = (message, *self._measure(message))
            total += entry[1]
            overhead += entry[2]
        return total, overhead

    def _measure(self, message: Message) -> tuple[int, int]:
        if isinstance(message, ToolMessage):
            tokens = self._counter.count(message.text)
            from_search = message.name == SEARCH_TOOL or message.revealed is not None
            return tokens, tokens if from_search else 0
        tokens, overhead = self._counter.count(message.text), 0
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                size = self._counter.count(f"{call.name}{call.arguments}")
                tokens += size
                overhead += size if call.name == SEARCH_TOOL else 0
        return tokens, overhead
