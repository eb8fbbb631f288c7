"""Truncation of tool results: where a text is cut, and what the model reads in the place of the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from ...messages import Media, Message, ToolMessage
from ...text import short_repr
from ...text.tokens import CHARACTERS_PER_TOKEN, estimate_tokens
from ..names import READ_TOOL, is_wire_name
from .conversion import media_placeholder

__all__ = ["Part", "cut_media", "cut_text", "evicted_text", "fits", "is_truncated", "note_of", "until_truncated"]

_MIN_SHARE = 0.8
_NOTE = re.compile(rf'\[Truncated: [^\[\]]*{READ_TOOL}\(handle="[^"\[\]]*", offset=\d+\)\.\]\Z')
_MAX_NOTE_CHARACTERS = 500


class Part(NamedTuple):
    """A part of a text: the text with a note at its end, and the position where the part ends."""

    text: str
    end: int


def fits(text: str, max_tokens: float) -> bool:
    """Return whether a text has at most `max_tokens` estimated tokens. The work depends on `max_tokens`."""
    return max_tokens == math.inf or (
        len(text) <= max_tokens * CHARACTERS_PER_TOKEN and estimate_tokens(text) <= max_tokens
    )


def cut_text(text: str, max_tokens: float, *, start: int = 0, handle: str | None = None, tool: str = "") -> Part:
    """Return the part of a text that begins at `start`, in at most `max_tokens` tokens with its note.

    The work depends on `max_tokens`, not on the length of the text. The part ends after a line if possible, else after
    a space. A text that is not longer has no part: see `fits`.

    Args:
        text: The whole text.
        max_tokens: The limit in estimated tokens.
        start: The position at which the part begins.
        handle: The handle of the stored text, or None if it is not stored.
        tool: The name of the tool, for a text that is not stored.
    """
    room = max_tokens - estimate_tokens(f"\n\n{note_of(start, len(text), len(text) + 1, handle, tool)}")
    window = text[start : start + int(room * CHARACTERS_PER_TOKEN)]
    length = len(window)
    if not fits(window, room):
        low, length = 1, len(window)  # `low` characters fit, `length` do not
        while length - low > 1:
            middle = (low + length) // 2
            low, length = (middle, length) if fits(window[:middle], room) else (low, middle)
        length = low
    if start + length < len(text):
        length = _end_of_line(window, length)
    end = start + length
    return Part(f"{text[start:end]}\n\n{note_of(start, end, len(text), handle, tool)}", end)


def note_of(start: int, end: int, total: int, handle: str | None, tool: str) -> str:
    """Return the note at the end of a part. These are all sentences about truncation that a model reads."""
    shown = f"characters {start:,} to {end:,} of {total:,}"
    if end == total:
        return f"[The end: {shown}.]"
    if handle is None:
        return (
            f"[Truncated: {shown}. The rest is not kept. If you need it and a second call has no side effects, "
            f"run {_name_of(tool)} with narrower arguments.]"
        )
    return f'[Truncated: {shown}. Ask for less, or read the rest with {READ_TOOL}(handle="{handle}", offset={end}).]'


def evicted_text(handle: str) -> str:
    """Return the answer to a handle that this process does not hold for the session."""
    tool = _name_of(handle.rpartition("/")[0])
    return (
        f"The result {short_repr(handle)} is not here: it was removed, or another worker holds it. If you need it "
        f"and a second call has no side effects, run {tool} again with narrower arguments."
    )


def cut_media(text: str, media: tuple[Media, ...], max_bytes: float) -> tuple[str, tuple[Media, ...]]:
    """Return the media that fit, in their order, and the text with a remark for each of the others."""
    kept: list[Media] = []
    size = 0
    for medium in media:
        added = len(medium.data) + len(medium.url or "")  # an address can hold the data itself
        if size + added <= max_bytes:
            size += added
            kept.append(medium)
            continue
        line = media_placeholder(medium)
        remark = f"{line} (left out: the media of one result can have at most {max_bytes:,} bytes)"
        text = text.replace(line, remark, 1) if line in text else f"{text}\n{remark}"
    return text, tuple(kept)


def is_truncated(message: object) -> bool:
    """Return whether a message is a tool result with a rest that can be read, also after it was stored as text."""
    if not isinstance(message, ToolMessage) or not message.text.endswith(").]"):
        return False
    return _NOTE.search(message.text[-_MAX_NOTE_CHARACTERS:]) is not None


def until_truncated(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages up to the first truncated result and the other results of its round; none if none is."""
    first = next((at for at, message in enumerate(messages) if is_truncated(message)), None)
    if first is None:
        return ()
    results = takewhile(lambda message: isinstance(message, ToolMessage), messages[first:])
    return (*messages[:first], *results)


def _name_of(tool: str) -> str:
    """Return the name of a tool. A model can write anything as a name."""
    return tool if is_wire_name(tool) else "the tool"


def _end_of_line(window: str, length: int) -> int:
    """Return where to cut the first `length` characters: after a line or a space near the end, or else there."""
    first = int(length * _MIN_SHARE)
    for separator in ("\n", " "):
        at = window.rfind(separator, first, length)
        if at >= 0:
            return at + 1
    return length
