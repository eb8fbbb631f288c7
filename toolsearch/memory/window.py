"""Windows: the part of a long conversation that is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from typing import Protocol, runtime_checkable

from ..chat.tokens import EstimateTokenCounter, TokenCounter
from ..errors import ConfigurationError
from ..messages import AssistantMessage, Message, ToolMessage, UserMessage
from .turns import split_turns

__all__ = ["MemoryWindow", "MessageWindow", "TokenWindow", "TurnWindow", "apply_window"]

DEFAULT_MEDIA_TOKENS = 1_000
"""The order of magnitude of an image: providers count between 85 and some 2,000 tokens."""


@runtime_checkable
class MemoryWindow(Protocol):
    """Strategy that limits how many of the latest turns are sent. It counts turns, so it cannot split one.

    Example:
        >>> from toolsearch.memory import ChatMemory, InMemoryRepository
        >>> class LatestTurn:
        ...     def keep(self, past, current):
        ...         return 1
        >>> memory = ChatMemory(InMemoryRepository(), LatestTurn())
    """

    def keep(self, past: Sequence[Sequence[Message]], current: Sequence[Message]) -> int:
        """Return the number of `past` turns to send, counted from the latest.

        Args:
            past: The earlier turns, oldest first, without system messages. Each begins at a user message and holds
                every tool call with its result.
            current: The messages of the current turn, which are always sent.
        """
        ...


class TurnWindow:
    """Window of the latest `turns` turns, the current one included.

    Args:
        turns: The maximum number of turns, 1 or more.

    Raises:
        ConfigurationError: If `turns` is not a whole number of 1 or more.

    Example:
        >>> from toolsearch import AssistantMessage, UserMessage
        >>> past = [UserMessage("1"), AssistantMessage("one"), UserMessage("2"), AssistantMessage("two")]
        >>> [message.text for message in apply_window(past, [UserMessage("3")], TurnWindow(2))]
        ['2', 'two']
    """

    def __init__(self, turns: int) -> None:
        _validate_size("turns", turns)
        self.turns = turns

    def keep(self, past: Sequence[Sequence[Message]], current: Sequence[Message]) -> int:
        """Return the number of `past` turns to send."""
        return max(0, self.turns - (1 if current else 0))


class MessageWindow:
    """Window of as many of the latest turns as have at most `messages` messages, the current turn included.

    The current turn is always sent whole, even if it alone has more messages. System messages are not counted.

    Args:
        messages: The maximum number of messages, 1 or more.

    Raises:
        ConfigurationError: If `messages` is not a whole number of 1 or more.

    Example:
        >>> from toolsearch import AssistantMessage, UserMessage
        >>> past = [UserMessage("1"), AssistantMessage("one"), UserMessage("2"), AssistantMessage("two")]
        >>> [message.text for message in apply_window(past, [UserMessage("3")], MessageWindow(4))]
        ['2', 'two']
    """

    def __init__(self, messages: int) -> None:
        _validate_size("messages", messages)
        self.messages = messages

    def keep(self, past: Sequence[Sequence[Message]], current: Sequence[Message]) -> int:
        """Return the number of `past` turns to send."""
        return _fitting(map(len, reversed(past)), self.messages - len(current))


class TokenWindow:
    """Window of as many of the latest turns as fit into `tokens` tokens, the current one included.

    The current turn is always sent whole, even if it alone has more tokens. System messages and tool definitions are
    not counted. An image or another medium counts as a flat number of tokens, whatever its size, because providers
    count by what is in it.

    Args:
        tokens: The maximum number of tokens, 1 or more.
        counter: The token counter. By default, a built-in estimate.
        media_tokens: The number of tokens that each medium counts as, 0 or more.

    Raises:
        ConfigurationError: If `tokens` is not a whole number of 1 or more, or `media_tokens` not one of 0 or more.

    Example:
        >>> from toolsearch import AssistantMessage, UserMessage
        >>> past = [UserMessage("word " * 99), AssistantMessage("one"), UserMessage("2"), AssistantMessage("two")]
        >>> [message.text for message in apply_window(past, [UserMessage("3")], TokenWindow(100))]
        ['2', 'two']
    """

    def __init__(
        self, tokens: int, counter: TokenCounter | None = None, *, media_tokens: int = DEFAULT_MEDIA_TOKENS
    ) -> None:
        _validate_size("tokens", tokens)
        _validate_size("media_tokens", media_tokens, 0)
        self.media_tokens = media_tokens
        self.tokens = tokens
        self.counter = counter or EstimateTokenCounter()

    def keep(self, past: Sequence[Sequence[Message]], current: Sequence[Message]) -> int:
        """Return the number of `past` turns to send."""
        return _fitting(map(self._count, reversed(past)), self.tokens - self._count(current))

    def _count(self, messages: Iterable[Message]) -> int:
        return sum(self._count_message(message) for message in messages)

    def _count_message(self, message: Message) -> int:
        media = message.media if isinstance(message, UserMessage | ToolMessage) else ()
        texts = sum(self.counter.count(text) for text in _counted_texts(message) if text)
        return texts + len(media) * self.media_tokens


def apply_window(
    past: Sequence[Message], current: Sequence[Message], window: MemoryWindow | None
) -> tuple[Message, ...]:
    """Return the part of `past` to send before `current`: its latest turns, whole. No window keeps all of it."""
    turns = split_turns(past)
    kept = len(turns) if window is None else window.keep(turns, current)
    if not isinstance(kept, int):
        raise ConfigurationError(f"{type(window).__name__}.keep must return the number of turns to send, got {kept!r}")
    return tuple(message for turn in turns[max(0, len(turns) - kept) :] for message in turn)


def _fitting(sizes: Iterable[int], room: int) -> int:
    """Return how many of the sizes fit into `room` together, from the first on."""
    return sum(1 for _ in takewhile(lambda total: total <= room, accumulate(sizes)))


def _counted_texts(message: Message) -> Iterable[str]:
    if isinstance(message, ToolMessage):
        return (message.text,)
    if isinstance(message, AssistantMessage):
        return (message.text, *(f"{call.name}{call.arguments}" for call in message.tool_calls))
    return (message.text,)


def _validate_size(param: str, size: object, least: int = 1) -> None:
    if isinstance(size, bool) or not isinstance(size, int) or size < least:
        raise ConfigurationError(f"{param} must be a whole number, {least} or more, got {size!r}")
