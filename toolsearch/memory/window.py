"""Windows: how much of a long conversation is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from ..chat.tokens import EstimateTokenCounter, TokenCounter
from ..errors import ConfigurationError
from ..messages import AssistantMessage, Message, ToolMessage
from .turns import split_turns

__all__ = ["MemoryWindow", "TokenWindow", "TurnWindow", "windowed"]


@runtime_checkable
class MemoryWindow(Protocol):
    """Decides how many of the latest turns are sent. It counts turns, so it cannot cut one in two."""

    def keep(self, past: Sequence[Sequence[Message]], current: Sequence[Message]) -> int:
        """Return how many of the `past` turns to send.

        Args:
            past: the earlier turns, oldest first, system messages left out. Each begins at a user message and holds
                every call with its result.
            current: the messages that are sent in any case: the turn that is going on.
        """
        ...


class TurnWindow:
    """The latest `turns` turns, the one that is going on included.

    Example:
        >>> from toolsearch import AssistantMessage, UserMessage
        >>> past = [UserMessage("1"), AssistantMessage("one"), UserMessage("2"), AssistantMessage("two")]
        >>> [message.text for message in windowed(past, [UserMessage("3")], TurnWindow(2))]
        ['2', 'two']
    """

    def __init__(self, turns: int) -> None:
        if isinstance(turns, bool) or not isinstance(turns, int) or turns < 1:
            raise ConfigurationError(f"a window holds a whole number of turns, 1 or more, not {turns!r}")
        self.turns = turns

    def keep(self, past: Sequence[Sequence[Message]], current: Sequence[Message]) -> int:
        """Return how many of the `past` turns to send."""
        return max(0, self.turns - (1 if current else 0))


class TokenWindow:
    """As many of the latest turns as have no more than `tokens` tokens, the one that is going on included.

    That one is always sent, whole, also when it alone has more. System messages and tool definitions are not counted,
    and neither is media.

    Args:
        tokens: the most to send.
        counter: counts them; by default a built-in estimate.

    Example:
        >>> from toolsearch import AssistantMessage, UserMessage
        >>> past = [UserMessage("word " * 99), AssistantMessage("one"), UserMessage("2"), AssistantMessage("two")]
        >>> [message.text for message in windowed(past, [UserMessage("3")], TokenWindow(100))]
        ['2', 'two']
    """

    def __init__(self, tokens: int, counter: TokenCounter | None = None) -> None:
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
            raise ConfigurationError(f"a window holds a whole number of tokens, 1 or more, not {tokens!r}")
        self.tokens = tokens
        self.counter = counter or EstimateTokenCounter()

    def keep(self, past: Sequence[Sequence[Message]], current: Sequence[Message]) -> int:
        """Return how many of the `past` turns to send."""
        left = self.tokens - self._count(current)
        kept = 0
        for turn in reversed(past):
            left -= self._count(turn)
            if left < 0:
                break
            kept += 1
        return kept

    def _count(self, messages: Iterable[Message]) -> int:
        return sum(self.counter.count(text) for message in messages for text in _texts(message) if text)


def _texts(message: Message) -> Iterable[str]:
    if isinstance(message, ToolMessage):
        return (message.text,)
    if isinstance(message, AssistantMessage):
        return (message.text, *(f"{call.name}{call.arguments}" for call in message.tool_calls))
    return (message.text,)


def windowed(past: Sequence[Message], current: Sequence[Message], window: MemoryWindow | None) -> tuple[Message, ...]:
    """Return the part of `past` to send before `current`: its latest turns, whole."""
    turns = split_turns(past)
    kept = len(turns) if window is None else window.keep(turns, current)
    if not isinstance(kept, int):
        raise ConfigurationError(f"{type(window).__name__}.keep must return how many turns to send, not {kept!r}")
    return tuple(message for turn in turns[max(0, len(turns) - kept) :] for message in turn)
