"""Messages of a conversation, with their tool calls, media and token usage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias, overload

from .errors import ConfigurationError
from .serialization import Serializable, decode_tagged
from .text import short_repr

__all__ = [
    "AssistantMessage",
    "Media",
    "Message",
    "SearchScope",
    "SystemMessage",
    "ToolCall",
    "ToolMessage",
    "ToolVersion",
    "Usage",
    "UserMessage",
    "message_from_dict",
]


_WRITE_MEDIA = 'Media("image/png", data)'
_WRITE_RESULT = "ToolMessage(call.id, call.name, text)"


@dataclass(frozen=True, slots=True, repr=False)
class Media(Serializable):
    """An image, audio clip or other binary part of a message.

    The types of its fields are validated when it becomes part of a message: a tool that returns media has run already,
    so wrong media must not make it fail.

    Args:
        mime_type: The media type, e.g. ``"image/png"``.
        data: The content; empty if `url` is given.
        url: An address from which the provider fetches the content.
        name: The name of the file, for providers that show it to the model.

    Example:
        >>> Media("image/png", url="https://example.org/a.png").data
        b''
    """

    mime_type: str
    data: bytes = b""
    url: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        data: Any = self.data
        if isinstance(data, bytearray | memoryview):
            object.__setattr__(self, "data", bytes(data))

    def __repr__(self) -> str:
        named = {"url": self.url, "name": self.name}
        given = "".join(f", {key}={value!r}" for key, value in named.items() if value is not None)
        size = f"<{len(self.data)} bytes>" if isinstance(self.data, bytes) else short_repr(self.data)
        return f"Media({self.mime_type!r}, {size}{given})"


@dataclass(frozen=True, slots=True)
class ToolCall(Serializable):
    """A tool call that a model requests.

    Args:
        id: The model's id of the call; the tool result carries the same id.
        name: The tool's name as the model sees it. White space around it, which some models write, is dropped.
        arguments: The arguments as JSON text, exactly as the model wrote them. They are replayed byte for byte,
            so that the provider's prompt cache still matches. `from_dict` takes a mapping instead.

    Raises:
        ConfigurationError: If an argument is not a string.

    Example:
        >>> ToolCall.from_dict("1", "weather", {"city": "Gouda"}).arguments
        '{"city": "Gouda"}'
    """

    id: str
    name: str
    arguments: str = "{}"

    def __post_init__(self) -> None:
        if not (isinstance(self.arguments, str) and isinstance(self.name, str) and isinstance(self.id, str)):
            raise ConfigurationError(_explain_wrong_types(self.id, self.name, self.arguments))
        if self.name[:1].isspace() or self.name[-1:].isspace():
            object.__setattr__(self, "name", self.name.strip())

    @overload
    @classmethod
    def from_dict(cls, value: Mapping[str, Any], /) -> Self: ...

    @overload
    @classmethod
    def from_dict(cls, id: str, name: str, arguments: Mapping[str, Any]) -> Self: ...

    @classmethod
    def from_dict(
        cls, id: str | Mapping[str, Any], name: str | None = None, arguments: Mapping[str, Any] | None = None
    ) -> Self:
        """Make a tool call from a mapping of arguments, for scripts and tests, or from what `to_dict` returned."""
        if isinstance(id, Mapping):
            return super(ToolCall, cls).from_dict(id)
        return cls(id, name or "", json.dumps(arguments, ensure_ascii=False))


def _explain_wrong_types(id: object, name: object, arguments: object) -> str:
    if isinstance(arguments, Mapping):
        return (
            f"ToolCall({name!r}): arguments must be JSON text, as a model writes it, got a mapping; "
            "write ToolCall.from_dict(id, name, arguments)"
        )
    kinds = ", ".join(type(part).__name__ for part in (id, name, arguments))
    return f"ToolCall: id, name and arguments (JSON text) must be strings, got {kinds}"


class _Message(Serializable):
    """Base class of messages: in their plain form, `role` names the class."""

    __slots__ = ()
    _tag: ClassVar[str | None] = "role"


@dataclass(frozen=True, slots=True)
class SystemMessage(_Message):
    """Instructions from the application.

    Raises:
        ConfigurationError: If `text` is not a string.

    Example:
        >>> SystemMessage("Be brief.").text
        'Be brief.'
    """

    role: ClassVar[str] = "system"
    text: str

    def __post_init__(self) -> None:
        _validate_strings(self, 'SystemMessage("...")', "text")


@dataclass(frozen=True, slots=True)
class UserMessage(_Message):
    """A message from the user. It starts a turn.

    Raises:
        ConfigurationError: If `text` is not a string, or `media` not a list of `Media`.

    Example:
        >>> UserMessage("What is this?", (Media("image/png", b"..."),)).media[0].mime_type
        'image/png'
    """

    role: ClassVar[str] = "user"
    text: str
    media: tuple[Media, ...] = ()

    def __post_init__(self) -> None:
        _validate_strings(self, 'UserMessage("...")', "text")
        _set_tuple(self, 'UserMessage("...", media=[medium])', "media", Media)


@dataclass(frozen=True, slots=True)
class SearchScope(Serializable):
    """Description of the tools that a session can search for, as the session was told it.

    Args:
        tools: The number of tools.
        tokens: The tokens of all definitions, or None if they were not counted.
        sources: The number of tools of each source.
        categories: Whether the search tool takes a category.
        reveals_all: Whether all tools are sent, so that there is no search tool.

    Example:
        >>> SearchScope(2, sources={"mail": 2}).tools
        2
    """

    tools: int
    tokens: int | None = None
    sources: Mapping[str, int] = field(default_factory=dict, hash=False)
    categories: bool = False
    reveals_all: bool = False


@dataclass(frozen=True, slots=True)
class AssistantMessage(_Message):
    """A message from the model, with the tool calls it requests.

    Args:
        text: The text; empty if the message only calls tools.
        tool_calls: The calls, in order.
        revealed: The identities of the tools that tool search had revealed to the session, in order, if the messages
            before do not show it. Otherwise None. Memory stores it; providers never receive it, and it does not count
            in a comparison.
        scope: What the search tool says of the tools that there are, if the messages before do not show it. Otherwise
            None. It is kept like `revealed`.

    Raises:
        ConfigurationError: If an argument has another type.

    Example:
        >>> AssistantMessage("It rains.").role
        'assistant'
    """

    role: ClassVar[str] = "assistant"
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    revealed: tuple[str, ...] | None = field(default=None, repr=False, compare=False)
    scope: SearchScope | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        _validate_strings(self, 'AssistantMessage("...")', "text")
        _set_tuple(self, "AssistantMessage(tool_calls=[call])", "tool_calls", ToolCall)
        _set_tuple(self, "AssistantMessage(revealed=[identity])", "revealed", str, optional=True)
        _validate_field(self, "AssistantMessage(scope=None)", "scope", SearchScope | None, "a SearchScope or None")


@dataclass(frozen=True, slots=True)
class ToolVersion(Serializable):
    """The tool that a conversation means by a name, and its definition at that time.

    Args:
        name: The name as the model saw it.
        identity: `Tool.identity`: the source and the name that it gave the tool.
        fingerprint: `Tool.fingerprint`: the digest of the definition. Empty if it was not recorded.

    Example:
        >>> ToolVersion("bank_pay", "bank::pay").identity
        'bank::pay'
    """

    name: str
    identity: str
    fingerprint: str = ""

    def __post_init__(self) -> None:
        _validate_strings(self, 'ToolVersion("bank_pay", "bank::pay")', "name", "identity", "fingerprint")


@dataclass(frozen=True, slots=True)
class ToolMessage(_Message):
    """A tool result: the answer to one tool call, for the model.

    Args:
        tool_call_id: The id of the `ToolCall` that it answers.
        name: The tool's name as the model sees it.
        text: The result as text.
        is_error: Whether the tool failed.
        media: Images and other media, for providers that accept them in a tool result.
        revealed: Names of the tools that this result put into the model's tool list. None if the result does not come
            from tool search. Memory stores it; providers never receive it.
        tools: The tools that `name` and `revealed` mean. Memory stores them, so that the names mean the same tools
            later; providers never receive them, and they do not count in a comparison.
        ran: Whether the tool ran. False for a call that was rejected before: by a limit, by the application, because
            the tool does not exist or because the arguments do not fit. Memory stores it; providers never receive it.

    Raises:
        ConfigurationError: If an argument has another type.

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
    revealed: tuple[str, ...] | None = field(default=None, repr=False)
    tools: tuple[ToolVersion, ...] = field(default=(), repr=False, compare=False)
    ran: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        _validate_strings(self, _WRITE_RESULT, "tool_call_id", "name", "text")
        _validate_field(self, _WRITE_RESULT, "is_error", bool, "True or False")
        _validate_field(self, _WRITE_RESULT, "ran", bool, "True or False")
        _set_tuple(self, "ToolMessage(..., media=[medium])", "media", Media)
        _set_tuple(self, "ToolMessage(..., revealed=[name])", "revealed", str, optional=True)
        _set_tuple(self, "ToolMessage(..., tools=[version])", "tools", ToolVersion)

    @classmethod
    def rejected(cls, call: ToolCall, text: str) -> ToolMessage:
        """Make the result of a call that does not run, e.g. because the user declined it.

        Args:
            call: The call.
            text: The reason, for the model.
        """
        return cls(call.id, call.name, text, is_error=True, ran=False)


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage
"""Any message of a conversation."""


def message_from_dict(value: Mapping[str, Any]) -> Message:
    """Return the message of a plain form that `to_dict` of a message returned. The key ``role`` names its class.

    Raises:
        ConfigurationError: If the form is wrong, or a newer version wrote it. The error names the place.

    Example:
        >>> message_from_dict({"role": "user", "text": "Hi"})
        UserMessage(text='Hi', media=())
        >>> message_from_dict(UserMessage("Hi").to_dict()) == UserMessage("Hi")
        True
    """
    message: Message = decode_tagged((SystemMessage, UserMessage, AssistantMessage, ToolMessage), value, "message")
    return message


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


@dataclass(frozen=True, slots=True)
class Usage(Serializable):
    """Token counts as a provider reports them; ``a + b`` adds two reports.

    Args:
        input_tokens: Prompt tokens, cached ones included.
        output_tokens: Completion tokens.
        cache_read_tokens: The part of `input_tokens` read from the provider's prompt cache; None if not reported.
        cache_write_tokens: The part of `input_tokens` written to the prompt cache; None if not reported.

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
        """The sum of input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            _sum(self.cache_read_tokens, other.cache_read_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
        )


def json_object(text: str) -> dict[str, Any] | None:
    """Parse arguments as a JSON object; empty text is an empty object. Return None for anything else."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# A field of a wrong type would fail later and elsewhere: in a counter, a store or a provider.


def _validate_field(owner: object, example: str, name: str, kind: Any, what: str) -> None:
    """Validate that a field has a type, `what` in words. `example` is what to write instead."""
    value = getattr(owner, name)
    if not isinstance(value, kind):
        raise _wrong(name, what, value, example)


def _validate_strings(owner: object, example: str, *names: str, optional: bool = False) -> None:
    """Validate that fields are strings, or None if `optional`."""
    for name in names:
        value = getattr(owner, name)
        if not isinstance(value, str) and not (optional and value is None):
            raise _wrong(name, "a string or None" if optional else "a string", value, example)


def validate_media(media: Iterable[Media]) -> None:
    """Validate the types of the fields of media.

    Raises:
        ConfigurationError: If a field has another type.
    """
    for medium in media:
        _validate_strings(medium, _WRITE_MEDIA, "mime_type")
        _validate_strings(medium, _WRITE_MEDIA, "url", "name", optional=True)
        _validate_field(medium, _WRITE_MEDIA, "data", bytes, "bytes")


def _set_tuple(owner: object, example: str, name: str, kind: type, *, optional: bool = False) -> None:
    """Make a field a tuple of `kind`, so that values with equal items are equal. Any iterable is accepted."""
    value = getattr(owner, name)
    if value == () or (optional and value is None):
        return
    items = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else None
    if items is None or not all(isinstance(item, kind) for item in items):
        raise _wrong(name, f"a list of {'strings' if kind is str else f'{kind.__name__} objects'}", value, example)
    if kind is Media:
        validate_media(items)
    if items is not value:
        object.__setattr__(owner, name, items)


def _wrong(name: str, what: str, value: object, example: str) -> ConfigurationError:
    return ConfigurationError(f"{name} must be {what}, got {short_repr(value)}; write {example}")
