"""Conversion of tools and tool results to the types of MCP."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from ...messages import Media, ToolMessage
from ...tools.results.conversion import media_placeholder

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock
    from mcp_types import Tool as McpTool

    from ...tools.tool_type import Tool

__all__ = ["describe_tool", "to_call_result"]


def describe_tool(tool: Tool, *, read_only: bool) -> McpTool:
    """Return the definition that a client lists; it does not contain the source of the tool."""
    from mcp_types import Tool as McpTool
    from mcp_types import ToolAnnotations

    return McpTool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        annotations=ToolAnnotations(read_only_hint=True) if read_only else None,
    )


def to_call_result(message: ToolMessage) -> CallToolResult:
    """Return the result of a call: its text, followed by its media as separate content."""
    from mcp_types import CallToolResult, TextContent

    text = _text_without_placeholders(message)
    content: list[ContentBlock] = [TextContent(text=text)] if text or not message.media else []
    content.extend(map(_block, message.media))
    return CallToolResult(content=content, is_error=message.is_error)


def _text_without_placeholders(message: ToolMessage) -> str:
    """Return the text without the placeholder lines of media, which are sent as content."""
    lines = message.text.split("\n")
    for medium in message.media:
        if (line := media_placeholder(medium)) in lines:
            lines.remove(line)
    return "\n".join(lines)


def _block(medium: Media) -> ContentBlock:
    from mcp_types import AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink

    if medium.url is not None:
        return ResourceLink(name=medium.url.rstrip("/").rpartition("/")[2], uri=medium.url, mime_type=medium.mime_type)
    data = base64.b64encode(medium.data).decode()
    kind = medium.mime_type.partition("/")[0]
    if kind == "image":
        return ImageContent(data=data, mime_type=medium.mime_type)
    if kind == "audio":
        return AudioContent(data=data, mime_type=medium.mime_type)
    resource = BlobResourceContents(uri="tool://result", blob=data, mime_type=medium.mime_type)
    return EmbeddedResource(resource=resource)
