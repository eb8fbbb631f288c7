"""Conversion of the return value of a tool into text and media for the model."""

from __future__ import annotations

import inspect
import io
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache
from types import GeneratorType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError
from ...messages import Media, validate_media
from ...text import replace_surrogates, short_repr
from ...text.logs import log_event
from .large_values import write_json
from .object_words import describe_object, type_name

if TYPE_CHECKING:
    from ..tool_type import Tool

__all__ = ["LazyResultError", "apply_converter", "convert_result", "media_placeholder", "sniff_mime_type"]

logger = logging.getLogger(__name__)

_LAZY_TYPES = (GeneratorType, map, filter, zip)
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


class LazyResultError(Exception):
    """The exception of a generator inside a result. The generator is part of the tool, so the tool failed."""


def convert_result(value: Any, tool: Tool) -> tuple[str, tuple[Media, ...]]:
    """Convert the return value of a tool into text and media. This is the default `result_converter`.

    None becomes ``null``, or "Done" if the tool does not declare a value (`Tool.returns_value`). A string, and bytes
    that are UTF-8, stay text. Images, other bytes and `Media` become media, with a line of text in their place for
    providers that do not accept media. A list may contain text and media. Anything else becomes JSON. An object that
    JSON cannot express becomes its `str()`, with a warning in the log.

    A `result_converter` can call this function for the values that it does not convert itself.

    Args:
        value: The return value.
        tool: The tool that returned it. Its `result_converter` is not used.

    Example:
        >>> from toolsearch.tools.tool_type import Tool
        >>> convert_result({"degrees": 21}, Tool("weather"))
        ('{"degrees":21}', ())
    """
    text, media = _to_parts(value, tool)
    return replace_surrogates(text), media


def apply_converter(value: Any, tool: Tool) -> tuple[str, tuple[Media, ...]]:
    """Convert a return value with the tool's `result_converter`, or by default with `convert_result`.

    Raises:
        ConfigurationError: If `result_converter` returns neither a string nor a string and media.
    """
    converter = tool.result_converter
    if converter is None:
        return convert_result(value, tool)
    result: Any = converter(value, tool) if _takes_tool(converter) else converter(value)  # type: ignore[call-arg]
    if isinstance(result, str):
        return replace_surrogates(result), ()
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str):
        given: Any = result[1]
        media = list(given) if isinstance(given, Iterable) else [given]
        if all(isinstance(item, Media) for item in media):
            validate_media(media)
            return replace_surrogates(result[0]), tuple(media)
    raise ConfigurationError(
        f"result_converter of tool {tool.name!r} must return a string, or a string and media, got {short_repr(result)}"
    )


def _takes_tool(converter: Callable[..., Any]) -> bool:
    """Return whether a converter has a second parameter without a default: it takes the value and the tool."""
    try:
        parameters = inspect.signature(converter).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for one in parameters if one.kind in positional and one.default is one.empty) == 2


def _to_parts(value: Any, tool: Tool) -> tuple[str, tuple[Media, ...]]:
    if isinstance(value, Enum):
        value = value.value
    if value is None:
        return ("null" if tool.returns_value else "Done"), ()
    if isinstance(value, str):
        return str.__str__(value), ()
    medium = _as_media(value)
    if medium is not None:
        return media_placeholder(medium), (medium,)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode(), ()  # other bytes are media, see above
    if isinstance(value, (list, tuple)) and any(map(_is_media, value)):
        parts = [_to_parts(item, tool) for item in value]
        return "\n".join(text for text, _ in parts), tuple(item for _, media in parts for item in media)
    return _json(value, tool.name), ()


def _is_media(value: Any) -> bool:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return sniff_mime_type(bytes(value)) is not None
    return isinstance(value, Media) or _is_image(value)


def _is_image(value: Any) -> bool:
    """Return whether a value is a PIL image or has its interface."""
    try:
        has_interface = all(hasattr(value, name) for name in ("mode", "size", "tobytes"))
        return has_interface and callable(getattr(value, "save", None))
    except Exception:  # a __getattr__ that fails
        return False


def _as_media(value: Any) -> Media | None:
    """Return the media of a value, or None for text and data. Bytes that are UTF-8 are text."""
    if isinstance(value, Media):
        validate_media((value,))
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        kind = sniff_mime_type(data)
        return Media(kind, data) if kind is not None else None
    return Media("image/png", _as_png(value)) if _is_image(value) else None


def sniff_mime_type(data: bytes) -> str | None:
    """Return the media type that the first bytes show, or None for text."""
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
    """Return a PIL image as a PNG file."""
    buffer = io.BytesIO()
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"):
        image = image.convert("RGB")
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def media_placeholder(medium: Media) -> str:
    """Return the line of text that stands in the place of a medium."""
    return f"[{medium.mime_type}, {medium.url or f'{len(medium.data):,} bytes'}]"


def _json(value: Any, tool: str) -> str:
    from pydantic_core import to_json, to_jsonable_python

    unknown: dict[str, bool] = {}

    def fallback(item: Any) -> Any:
        """Return a JSON value for an object: a list for an array, a dict for a mapping, otherwise its text."""
        with suppress(Exception):  # __getattr__ or tolist fails
            if isinstance(item, Mapping):
                return dict(item)
            if isinstance(item, SimpleNamespace):
                return vars(item)
            to_list = getattr(item, "tolist", None)
            if callable(to_list) and not isinstance(item, type):
                return to_list()
        unknown[type_name(item)] = True
        return describe_object(item)

    options: dict[str, Any] = {"fallback": fallback, "bytes_mode": "base64", "inf_nan_mode": "strings"}
    # A field that is typed as a base class keeps the fields of its own class.
    options[_by_own_class()] = True

    def dump(item: Any) -> str:
        return json.dumps(item, ensure_ascii=False, separators=(",", ":"), default=fallback)

    def encode_part(part: Any) -> str:
        return to_json(part, **options).decode()

    ordered = _plain(value)
    encoders: tuple[Callable[[], str], ...] = (
        lambda: write_json(ordered, encode_part),
        # for lone surrogates in values, then in keys
        lambda: dump(to_jsonable_python(ordered, **options)),
        lambda: dump(ordered),
    )
    for encode in encoders:
        try:
            text = encode()
            break
        except MemoryError:
            raise
        except Exception:  # noqa: S112  # of pydantic or json, or of an attribute that fails
            continue
    else:
        unknown[type_name(value)] = True  # a circular reference
        text = describe_object(value)
    if unknown:
        log_event(logger, logging.WARNING, "result_not_json", {"tool": tool, "types": ", ".join(unknown)})
    return text


@cache
def _by_own_class() -> str:
    """Return the option of pydantic that serializes an object by its own class. Before 2.13 it drops serializers."""
    from pydantic_core import to_json

    try:
        to_json(None, polymorphic_serialization=True)
    except TypeError:
        return "serialize_as_any"
    return "polymorphic_serialization"


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value with sets as sorted lists, so that results do not depend on hashing, and generators as lists.

    Only plain containers are searched.
    """
    if depth > 50:
        return value
    if isinstance(value, (set, frozenset)):
        members = [_plain(member, depth + 1) for member in value]
        return sorted(members, key=lambda member: (type_name(member), short_repr(member, 1000)))
    if type(value) is dict:
        return {key: _plain(member, depth + 1) for key, member in value.items()}
    if type(value) in (list, tuple):
        return [_plain(member, depth + 1) for member in value]
    if type(value) in _LAZY_TYPES:
        try:
            members = list(value)
        except Exception as error:
            raise LazyResultError from error
        return [_plain(member, depth + 1) for member in members]
    return value
