"""From what a tool returned to what the model reads."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError
from ...messages import Media
from ...text import replace_surrogates

if TYPE_CHECKING:
    from ...tools.tool import Tool

__all__ = ["convert_result", "in_place_of"]

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def convert_result(value: Any, tool: Tool) -> tuple[str, tuple[Media, ...]]:
    """Return the text and the media that stand for `value` in the result of `tool`.

    None is "Done"; text stays as it is; images, other bytes and `Media` become media, with a line of text in their
    place for providers that take none; a list may mix texts and media; anything else is JSON. A tool's own
    `result_converter` comes before all of these.

    Raises:
        ConfigurationError: when the tool's own converter returns neither text nor text and media.

    Example:
        >>> from toolsearch.tools.tool import Tool
        >>> convert_result({"degrees": 21}, Tool("weather"))
        ('{"degrees":21}', ())
    """
    text, media = _converted(value, tool) if tool.result_converter is not None else _parts(value)
    return replace_surrogates(text), media


def _converted(value: Any, tool: Tool) -> tuple[str, tuple[Media, ...]]:
    assert tool.result_converter is not None
    result: Any = tool.result_converter(value)
    if isinstance(result, str):
        return result, ()
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str):
        given: Any = result[1]
        media = list(given) if isinstance(given, Iterable) else [given]
        if all(isinstance(item, Media) for item in media):
            return result[0], tuple(media)
    raise ConfigurationError(
        f"the result_converter of the tool {tool.name!r} must return a text, or a text and media, not {result!r:.100}"
    )


def _parts(value: Any) -> tuple[str, tuple[Media, ...]]:
    if isinstance(value, Enum):
        value = value.value
    if value is None:
        return "Done", ()
    if isinstance(value, str):
        return str(value), ()
    medium = _as_media(value)
    if medium is not None:
        return in_place_of(medium), (medium,)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode(), ()  # _as_media took what is not text
    if isinstance(value, (list, tuple)) and any(map(_is_media, value)):
        parts = [_parts(item) for item in value]
        return "\n".join(text for text, _ in parts), tuple(item for _, media in parts for item in media)
    return _json(value), ()


def _is_media(value: Any) -> bool:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _kind_of(bytes(value)) is not None
    return isinstance(value, Media) or _is_image(value)


def _is_image(value: Any) -> bool:
    """Whether a value is an image of PIL, or like one."""
    return callable(getattr(value, "save", None)) and all(hasattr(value, name) for name in ("mode", "size", "tobytes"))


def _as_media(value: Any) -> Media | None:
    """The media that a value is, if it is any. Bytes that are UTF-8 are text."""
    if isinstance(value, Media):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        kind = _kind_of(data)
        return Media(kind, data) if kind is not None else None
    return Media("image/png", _as_png(value)) if _is_image(value) else None


def _kind_of(data: bytes) -> str | None:
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return None


def _as_png(image: Any) -> bytes:
    """An image of PIL, or one that is like it, as a file."""
    buffer = io.BytesIO()
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"):
        image = image.convert("RGB")
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def in_place_of(medium: Media) -> str:
    """The line of text that stands where a medium was."""
    return f"[{medium.mime_type}, {medium.url or f'{len(medium.data):,} bytes'}]"


def _json(value: Any) -> str:
    from pydantic_core import to_json, to_jsonable_python

    ordered = _ordered(value)
    ways: tuple[Callable[[], str], ...] = (
        lambda: to_json(ordered, fallback=_fallback, bytes_mode="base64", inf_nan_mode="strings").decode(),
        # lone surrogates in values, then in keys
        lambda: _dumped(to_jsonable_python(ordered, fallback=_fallback, bytes_mode="base64", inf_nan_mode="strings")),
        lambda: _dumped(ordered),
    )
    for way in ways:
        try:
            return way()
        except (TypeError, ValueError, RecursionError):  # pydantic's own error is a ValueError
            continue
    return _fallback_text(value)  # a circle


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_fallback)


def _ordered(value: Any, depth: int = 0) -> Any:
    """The same value with sets as sorted lists, wherever they are in plain containers: hashing must not show."""
    if depth > 50:
        return value
    if isinstance(value, (set, frozenset)):
        members = [_ordered(member, depth + 1) for member in value]
        return sorted(members, key=lambda member: (type(member).__name__, repr(member)))
    if type(value) is dict:
        return {key: _ordered(member, depth + 1) for key, member in value.items()}
    if type(value) in (list, tuple):
        return [_ordered(member, depth + 1) for member in value]
    return value


def _fallback(value: Any) -> Any:
    """What stands for an object that JSON does not know: arrays as lists, the rest as its text."""
    to_list = getattr(value, "tolist", None)
    if callable(to_list) and not isinstance(value, type):
        return to_list()
    return _fallback_text(value)


def _fallback_text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # its own __str__ fails: the tool did work
        return f"<{type(value).__name__}>"
