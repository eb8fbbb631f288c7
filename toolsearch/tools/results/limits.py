"""Limits on the size of tool results, and the tool that reads the rest of a longer result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...errors import ConfigurationError, ToolArgumentError
from ...messages import Message, ToolMessage
from ..definition.fields import MIN_RESULT_TOKENS
from ..names import READ_TOOL
from ..tool_type import Tool
from .store import ResultStore, SessionKey, StoredResult
from .truncation import cut_media, cut_text, evicted_text, fits, is_truncated

__all__ = ["RESULT_MEDIA_BYTES", "RESULT_TOKENS", "ResultLimits", "TurnResults"]

RESULT_TOKENS = 25_000
"""The default limit on the text of a result, in estimated tokens."""

RESULT_MEDIA_BYTES = 20_000_000
"""The default limit on the media of a result."""

_DESCRIPTION = (
    "Reads the rest of a tool result that was truncated. Take handle and offset from the note at the end of the result."
)
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "The handle in the note."},
        "offset": {"type": "integer", "minimum": 0, "description": "The position to read from, in characters."},
    },
    "required": ["handle", "offset"],
    "additionalProperties": False,
}


class ResultLimits:
    """Limits on the size of one tool result. A longer result is cut, with a note for the model.

    Args:
        max_tokens: Tokens of the text, estimated by its length. None sets no limit.
        max_media_bytes: Bytes of all media of the result. Media above it are left out. None sets no limit.

    Raises:
        ConfigurationError: If a limit is not a number, or too small.

    Example:
        >>> message = ToolMessage("1", "list_files", "file.txt " * 1000)
        >>> limited = ResultLimits(max_tokens=100).limit(message, Tool("list_files"))
        >>> limited.text.splitlines()[-1][:45]
        '[Truncated: characters 0 to 288 of 9,000. The'
    """

    def __init__(
        self, *, max_tokens: float | None = RESULT_TOKENS, max_media_bytes: float | None = RESULT_MEDIA_BYTES
    ) -> None:
        self.max_tokens = _coerce_limit("max_result_tokens", max_tokens, MIN_RESULT_TOKENS)
        self.max_media_bytes = _coerce_limit("max_result_media_bytes", max_media_bytes, 0)

    def limit(self, message: ToolMessage, tool: Tool | None) -> ToolMessage:
        """Return a result within the limits.

        Args:
            message: The result.
            tool: The tool that was called, or None if it does not exist. Its own limit replaces `max_tokens`.
        """
        text, media = message.text, message.media
        if media:
            text, media = cut_media(text, media, self.max_media_bytes)
        own = None if tool is None else tool.max_result_tokens
        max_tokens = self.max_tokens if own is None else own
        if not fits(text, max_tokens):
            handle = None if tool is None else self.keep(tool, text, max_tokens)
            text = cut_text(text, max_tokens, handle=handle, tool=message.name).text
        if text is message.text and len(media) == len(message.media):
            return message
        return replace(message, text=text, media=media)

    def keep(self, tool: Tool, text: str, max_tokens: float) -> str | None:
        """Store the text of a long result. Return a handle, or None if it is not stored."""
        return None


class TurnResults(ResultLimits):
    """The limits on the results of one turn, with a store for the rests of long ones.

    Args:
        limits: The limits.
        store: The store of this process.
        key: The tenant and the session of the turn.
        is_refused: Returns whether the session may not have a stored result now. It may block.

    Attributes:
        read_tool: The tool that reads stored results of this session.

    Example:
        >>> turn = TurnResults(ResultLimits(max_tokens=100), ResultStore(), ("acme", "ann"), lambda result: False)
        >>> _ = turn.limit(ToolMessage("1", "list_files", "file.txt " * 1000), Tool("list_files"))
        >>> turn.needs_read_tool
        True
    """

    def __init__(
        self,
        limits: ResultLimits,
        store: ResultStore,
        key: SessionKey,
        is_refused: Callable[[StoredResult], bool],
    ) -> None:
        super().__init__(max_tokens=limits.max_tokens, max_media_bytes=limits.max_media_bytes)
        self._store = store
        self._key = key
        self._is_refused = is_refused
        self._needed = False
        self.read_tool = Tool(
            READ_TOOL, _DESCRIPTION, _PARAMETERS, self._read, source=READ_TOOL, max_result_tokens=math.inf
        )

    def open(self, conversation: Iterable[Message]) -> None:
        """Begin the turn. The read tool is sent if it was sent before, here or as the conversation shows."""
        if self.max_tokens < math.inf:
            self._needed = self._store.is_announced(self._key) or any(map(is_truncated, conversation))

    @property
    def needs_read_tool(self) -> bool:
        """True if the read tool is to be sent from now on."""
        return self._needed

    def keep(self, tool: Tool, text: str, max_tokens: float) -> str | None:
        """Store the text of a long result for the session."""
        handle = self._store.put(self._key, tool, text, max_tokens)
        self._needed = self._needed or handle is not None
        return handle

    @property
    def is_placed(self) -> bool:
        """True if the read tool has a place in the tool list of the session."""
        return self._store.is_announced(self._key)

    def place(self, tools: Sequence[Tool], tools_before: frozenset[str] | None = None) -> tuple[Tool, ...]:
        """Return the tools of a round with the read tool at its place in this session.

        Args:
            tools: The tools of the round.
            tools_before: The names of the tools before it, or None for the end, if it has no place yet.
        """
        at = _position(tools, self._store.announce(self._key, tools_before))
        return (*tools[:at], self.read_tool, *tools[at:])

    def _read(self, handle: str, offset: int) -> str:
        result = self._store.get(self._key, handle)
        if result is None or self._is_refused(result):
            raise ToolArgumentError(evicted_text(handle))
        if offset >= len(result.text):
            raise ToolArgumentError(f"offset must be less than {len(result.text)}, the end of the result, got {offset}")
        return cut_text(result.text, result.max_tokens, start=int(offset), handle=handle).text


def _position(tools: Sequence[Tool], tools_before: frozenset[str] | None) -> int:
    if tools_before is None:
        return len(tools)
    return max((at for at, tool in enumerate(tools, 1) if tool.name in tools_before), default=0)


def _coerce_limit(name: str, value: float | None, minimum: float) -> float:
    """Return a limit as a number; None is infinite."""
    if value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= minimum:
        raise ConfigurationError(f"{name} must be at least {minimum}, or None, got {value!r}")
    return value
