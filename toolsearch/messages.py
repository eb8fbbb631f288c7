"""What a conversation is made of: messages, tool calls, media and token usage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from .errors import ConfigurationError

__all__ = [
    "AssistantMessage",
    "Media",
    "Message",
    "SystemMessage",
    "ToolCall",
    "ToolMessage",
    "Usage",
    "UserMessage",
]


@dataclass(frozen=True, slots=True)
class Media:
    """An image or other binary part of a message.

    Args:
        mime_type: e.g. ``"image/png"``.
        data: the bytes themselves; empty when `url` is given.
        url: where a provider can fetch it instead.

    Example:
        >>> Media("image/png", url="https://example.org/a.png").data
        b''
    """

    mime_type: str
    data: bytes = b""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool run.

    Args:
        id: the model's id of this call; its result carries the same one.
        name: the tool's name as the model sees it.
        arguments: the arguments as the model wrote them: JSON text, kept to the byte so that a replayed
            history is the one the provider has cached. `of` makes a call of a mapping.

    Raises:
        ConfigurationError: if one of them is not a text.

    Example:
        >>> ToolCall.from_dict("1", "weather", {"city": "Gouda"}).arguments
        '{"city": "Gouda"}'
    """

    id: str
    name: str
    arguments: str = "{}"

    def __post_init__(self) -> None:
        if not (isinstance(self.arguments, str) and isinstance(self.name, str) and isinstance(self.id, str)):
            raise ConfigurationError(_wrong_call(self.id, self.name, self.arguments))

    @classmethod
    def from_dict(cls, id: str, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        """A call with its arguments given as a mapping, for scripts and tests."""
        return cls(id, name, json.dumps(arguments, ensure_ascii=False))


def _wrong_call(id: object, name: object, arguments: object) -> str:
    if isinstance(arguments, Mapping):
        return (
            f"the arguments of a ToolCall ({name!r}) are JSON text, as a model writes them, not a mapping: "
            "write ToolCall.from_dict(id, name, arguments)"
        )
    kinds = ", ".join(type(part).__name__ for part in (id, name, arguments))
    return f"a ToolCall is made of three texts: id, name, and arguments as JSON; not of {kinds}"


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """Instructions of the application.

    Example:
        >>> SystemMessage("Be brief.").text
        'Be brief.'
    """

    role: ClassVar[str] = "system"
    text: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user says; it starts a turn.

    Example:
        >>> UserMessage("What is this?", (Media("image/png", b"..."),)).media[0].mime_type
        'image/png'
    """

    role: ClassVar[str] = "user"
    text: str
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model says, with the tool calls it wants.

    Example:
        >>> AssistantMessage("It rains.").role
        'assistant'
    """

    role: ClassVar[str] = "assistant"
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_calls", tuple(self.tool_calls))


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call, for the model.

    Args:
        tool_call_id: the id of the `ToolCall` it answers.
        name: the tool's name as the model sees it.
        text: the result as text.
        is_error: whether the tool did not do what was asked.
        media: images and the like, for providers that take them in a result.

    Example:
        >>> ToolMessage("call_1", "weather", "rain").is_error
        False
    """

    role: ClassVar[str] = "tool"
    tool_call_id: str
    name: str
    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as a provider reports them; `a + b` sums two reports.

    Args:
        input_tokens: prompt tokens, cached ones included.
        output_tokens: completion tokens.
        cache_read_tokens: the part of `input_tokens` read from the provider's prompt cache; None if never reported.
        cache_write_tokens: the part of `input_tokens` written to it; None if never reported.

    Example:
        >>> Usage(100, 5) + Usage(120, 7, cache_read_tokens=90)
        Usage(input_tokens=220, output_tokens=12, cache_read_tokens=90, cache_write_tokens=None)
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            _sum(self.cache_read_tokens, other.cache_read_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
        )


def last_user_text(messages: Sequence[Message]) -> str:
    """The text of the last user message, or an empty string when there is none."""
    return next((m.text for m in reversed(messages) if isinstance(m, UserMessage)), "")


def json_object(text: str) -> dict[str, Any] | None:
    """A model's arguments as an object; None when they are not one. Empty text is an empty object."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
