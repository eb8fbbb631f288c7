"""Repair of a server's tool results before the SDK validates them.

The SDK rejects a whole result if one block in it is invalid. By then the call has had its effect, so each block that
can be read is kept, and any other becomes the text of its JSON.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mcp_types import CallToolResult, methods
from pydantic import ValidationError

from ....tools.results.conversion import sniff_mime_type

__all__ = ["repair_result"]

_ENVELOPE = ("_meta", "resultType", "isError", "content", "structuredContent")
_FALSE_TEXTS = ("", "0", "false", "no", "none", "null")
_MIME_KEYS = ("mimeType", "mime_type", "mimetype", "mediaType", "media_type")
_UNKNOWN_MIME_TYPE = "application/octet-stream"


def repair_result(result: object, version: str) -> dict[str, Any]:
    """Return a result of a tool call that the SDK accepts; a valid one is returned as it is.

    Args:
        result: The ``result`` of the server's answer.
        version: The protocol version of the session.
    """
    if isinstance(result, dict) and (_is_valid(result, version) or result.get("resultType") == "input_required"):
        return result
    if not isinstance(result, dict):
        blocks = [] if result is None else _blocks(result, version)
        return {"content": blocks, "resultType": "complete"}
    repaired: dict[str, Any] = {"resultType": "complete"}
    if isinstance(meta := result.get("_meta"), dict):
        repaired["_meta"] = meta
    repaired["isError"] = _is_true(result.get("isError"))
    repaired["content"] = _blocks(result.get("content"), version)
    structured = result.get("structuredContent")
    if structured is not None:
        if _is_valid({**repaired, "structuredContent": structured}, version):
            repaired["structuredContent"] = structured
        elif not repaired["content"]:  # this protocol version allows only objects
            repaired["content"] = [_json_block(structured)]
    if "content" not in result and "structuredContent" not in result:
        rest = {key: value for key, value in result.items() if key not in _ENVELOPE}
        repaired["content"] = [_json_block(rest)] if rest else []
    if not _is_valid(repaired, version):
        repaired.pop("_meta", None)
    return repaired


def _is_valid(result: Mapping[str, Any], version: str) -> bool:
    try:
        methods.validate_server_result("tools/call", version, dict(result))
        CallToolResult.model_validate(result, by_name=False)  # the SDK validates by both
    except ValidationError:
        return False
    return True


def _is_true(value: object) -> bool:
    return value.strip().lower() not in _FALSE_TEXTS if isinstance(value, str) else bool(value)


def _blocks(content: object, version: str) -> list[dict[str, Any]]:
    if content is None:
        return []
    blocks = content if isinstance(content, list) else [content]
    return [_repaired_block(block, version) for block in blocks if block is not None]


def _repaired_block(block: object, version: str) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, dict):
        return _json_block(block)
    candidates = [block]
    with suppress(KeyError, TypeError, AttributeError):  # a required field is missing
        candidates.append(_with_required_fields(block))
    for candidate in candidates:
        if _is_valid({"content": [candidate], "resultType": "complete"}, version):
            return candidate
    return _json_block(block)


def _with_required_fields(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block with the fields that servers leave out, and without optional ones that cannot be read."""
    kind = block.get("type")
    if kind is None:
        kind = "text" if "text" in block else "resource" if "resource" in block else None
    repaired: dict[str, Any] = {"type": kind}
    match kind:
        case "text":
            text = block["text"]
            repaired["text"] = "" if text is None else text if isinstance(text, str) else _json(text)
        case "image" | "audio":
            repaired |= _media_fields(block, "data")
        case "resource":
            repaired["resource"] = _resource(block["resource"])
        case "resource_link":
            uri = str(block["uri"])
            repaired |= {"uri": uri, "name": str(block.get("name") or block.get("title") or uri)}
            if isinstance(title := block.get("title"), str):
                repaired["title"] = title
    return repaired


def _resource(resource: Mapping[str, Any]) -> dict[str, Any]:
    repaired: dict[str, Any] = {"uri": str(resource.get("uri") or "")}
    if resource.get("text") is not None:
        text = resource["text"]
        mime_type = _mime_type(resource)
        rest = {"text": text if isinstance(text, str) else _json(text)}
        return repaired | rest | ({"mimeType": mime_type} if mime_type else {})
    media = _media_fields(resource, "blob" if resource.get("blob") is not None else "data")
    return repaired | {"blob": media["data"], "mimeType": media["mimeType"]}


def _media_fields(block: Mapping[str, Any], key: str) -> dict[str, Any]:
    data = block[key]
    if not isinstance(data, str):
        raise TypeError(key)
    mime_type = _mime_type(block)
    if data.startswith("data:") and "," in data[:200]:
        head, _, data = data.partition(",")
        mime_type = mime_type or head.removeprefix("data:").partition(";")[0]
    return {"data": data, "mimeType": mime_type or _sniff_base64(data)}


def _mime_type(block: Mapping[str, Any]) -> str | None:
    return next((block[key] for key in _MIME_KEYS if isinstance(block.get(key), str) and block[key]), None)


def _sniff_base64(data: str) -> str:
    head = "".join(data[:200].split()).replace("-", "+").replace("_", "/")
    try:
        return sniff_mime_type(base64.b64decode(head[: len(head) // 4 * 4])) or _UNKNOWN_MIME_TYPE
    except ValueError:
        return _UNKNOWN_MIME_TYPE


def _json_block(value: object) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else _json(value)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
