"""Conversion of MCP tool results to the return values of tools."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...messages import Media
from ..errors import McpToolError

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

__all__ = ["convert_result", "returns_value"]

_NO_RESULT = {"result": None}  # servers wrap the value of a function, also that of one that returns nothing


def returns_value(output_schema: Mapping[str, Any] | None) -> bool:
    """Return whether a tool with this output schema declares a value, so that no result means ``null``."""
    if output_schema is None:
        return False
    properties = output_schema.get("properties")
    result = properties.get("result") if isinstance(properties, Mapping) and len(properties) == 1 else None
    return not (isinstance(result, Mapping) and result.get("type") == "null")


def convert_result(result: CallToolResult, *, server: str, tool: str) -> object:
    """Convert a result to text, structured data and media.

    Servers repeat structured content as text for clients that support only text; then the structured copy is dropped.
    If the text says something else, such as a summary, the JSON of the structured content follows it.

    Returns:
        None for an empty result and for a wrapped None, a string, a JSON value, one `Media`, or a list of a string (or
        JSON value) and media.

    Raises:
        McpToolError: If the result is marked as an error.
    """
    parts = [_convert_block(block) for block in result.content]
    texts = [part for part in parts if isinstance(part, str)]
    text = "\n".join(filter(None, texts))
    structured = result.structured_content
    repeated = structured is not None and _repeats_blocks(result.content, structured)
    if texts and structured is not None and not repeated and not _is_copy(texts, structured):
        text = "\n".join(filter(None, [text, json.dumps(structured, ensure_ascii=False)]))
    if result.is_error:
        raise McpToolError(text or _structured_error(result, server, tool))
    media = [part for part in parts if isinstance(part, Media)]
    head = text if texts else None if media and repeated else structured
    if not media:
        return None if head == _NO_RESULT else head
    return [*([] if head is None else [head]), *media] if len(media) > 1 or head is not None else media[0]


def _structured_error(result: CallToolResult, server: str, tool: str) -> str:
    if result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return f"tool {tool!r} of server {server!r} failed without saying why"


def _convert_block(block: ContentBlock) -> str | Media:
    from mcp_types import BlobResourceContents

    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return _media(block.mime_type, block.data)
        case "resource_link":
            return f"{block.title or block.name}: {block.uri}"
        case "resource":
            resource = block.resource
            if isinstance(resource, BlobResourceContents):
                return _media(resource.mime_type or "application/octet-stream", resource.blob)
            return resource.text


def _is_copy(texts: Sequence[str], structured: object) -> bool:
    """Return whether the texts say what the structured content says: its JSON, or the value that a server wrapped."""
    values = [structured]
    if isinstance(structured, Mapping) and len(structured) == 1:
        values += structured.values()
    parsed = [_parsed(text) for text in texts]
    joined = "\n".join(texts)
    for value in values:
        if any(found == value for found in parsed) or parsed == value or list(texts) == value:
            return True
        if _parsed(joined) == value or joined.strip() == str(value).strip():
            return True
    return False


def _repeats_blocks(blocks: Sequence[ContentBlock], structured: object) -> bool:
    """Return whether structured content is the content again, as servers of SDK 1 send it: media as base64."""
    values = [structured]
    if isinstance(structured, Mapping) and len(structured) == 1:
        values += structured.values()
    for value in values:
        items = value if isinstance(value, list) else [value]
        if len(items) == len(blocks) and all(map(_is_block, items, blocks)):
            return True
    return False


def _is_block(value: object, block: ContentBlock) -> bool:
    if isinstance(value, Mapping) and "type" in value:
        return bool(_without_nulls(value) == _without_nulls(block.model_dump(mode="json", by_alias=True)))
    return block.type == "text" and value in (block.text, _parsed(block.text))


def _without_nulls(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _parsed(text: str) -> object:
    """Return the value of a JSON text, also one in a code block; other texts are their own value."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        stripped = stripped[3:-3].removeprefix("json").strip()
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return text


_URL_SAFE = str.maketrans("-_", "+/")


def _media(mime_type: str, data: str) -> str | Media:
    """Decode base64 in any of its common spellings: folded lines, the alphabet of URLs, missing padding."""
    plain = "".join(data.split()).translate(_URL_SAFE).rstrip("=")
    try:
        return Media(mime_type, base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except (binascii.Error, ValueError):
        return f"[{mime_type}: {len(data)} characters of invalid base64]"
