"""What a conversation tells of tool search: which tools were disclosed in it, and what searching cost."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import groupby

from ..chat.tokens import TokenCounter
from ..messages import AssistantMessage, Message, ToolMessage
from .search_tool import SEARCH_TOOL, is_load_answer, names_in_result

__all__ = ["MessageTokens", "disclosed_in"]


def disclosed_in(messages: Sequence[Message], tools: Container[str], *, latest_only: bool = False) -> tuple[str, ...]:
    """Return the tools that were disclosed in a conversation, in the order in which they were.

    Tools named in results of `tool_search`, and tools that were called or loaded directly. Within one batch of calls
    direct loads come first, as they do when it happens. What has another form is ignored.

    Args:
        messages: the conversation.
        tools: the names of the tools there are now.
        latest_only: only the latest batch with a search in it.
    """
    found: dict[str, None] = {}
    for is_batch, group in groupby(messages, key=lambda message: isinstance(message, ToolMessage)):
        if not is_batch:
            continue
        batch = [message for message in group if isinstance(message, ToolMessage)]
        searches = [message for message in batch if message.name == SEARCH_TOOL]
        if latest_only and searches:
            found.clear()
        called = (message.name for message in batch if message.name != SEARCH_TOOL and not message.is_error)
        listed = (name for message in searches for name in names_in_result(message.text))
        found.update(dict.fromkeys(name for name in (*called, *listed) if name in tools))
    return tuple(found)


class MessageTokens:
    """Counts the tokens of a conversation that grows; each message is counted once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._counted: dict[int, tuple[Message, int, int]] = {}

    def count(self, messages: Iterable[Message]) -> tuple[int, int]:
        """Return the tokens of the messages, and of those parts that only tool search put there."""
        total = overhead = 0
        for message in messages:
            entry = self._counted.get(id(message))
            if entry is None:
                # The message is kept, so that its id cannot come to mean another one.
                entry = self._counted[id(message)] = (message, *self._measure(message))
            total += entry[1]
            overhead += entry[2]
        return total, overhead

    def _measure(self, message: Message) -> tuple[int, int]:
        if isinstance(message, ToolMessage):
            tokens = self._counter.count(message.text)
            searched = message.name == SEARCH_TOOL or is_load_answer(message.name, message.text)
            return tokens, tokens if searched else 0
        tokens, overhead = self._counter.count(message.text), 0
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                size = self._counter.count(f"{call.name}{call.arguments}")
                tokens += size
                overhead += size if call.name == SEARCH_TOOL else 0
        return tokens, overhead
