"""What the model reads of tool search: the definition of `tool_search`, its results, and the way back from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..indexes.reference import ToolReference
from ..indexes.response import ToolHit
from .sessions.tool_set import ToolSet

__all__ = [
    "DEFAULT_INSTRUCTIONS",
    "SEARCH_TOOL",
    "describe_hits",
    "describe_revealed",
    "describe_sources",
    "is_load_answer",
    "names_in_result",
    "search_tool_description",
    "search_tool_parameters",
]

SEARCH_TOOL = "tool_search"
"""The name of the search tool; no other tool may have it."""

DEFAULT_INSTRUCTIONS = (
    f"Most of your tools are not listed yet. When no listed tool fits what you have to do, find one with "
    f"`{SEARCH_TOOL}` before you say that you cannot do it; the tools it finds are added to your list, "
    "and you call them like any other."
)

_SOURCES_NAMED = 30
_SUMMARY_LENGTH = 160
_LISTED = re.compile(r"^- ([a-zA-Z0-9_-]{1,64})(?:$|: )", re.MULTILINE)


def search_tool_description(tools: ToolSet) -> str:
    """The description of `tool_search`: what it does, and what there is to find. Frozen at a session's first turn."""
    return (
        f"Finds tools among the {len(tools)} that are available but not all listed{describe_sources(tools.sources)}. "
        "Say in a few words what the tool should do, or give a name. "
        "The tools found are added to your tool list; this only finds them, it does not run them."
    )


def describe_sources(sources: Mapping[str, int]) -> str:
    """The sources and how many tools each has, as a parenthesis; empty when there are none."""
    if not sources:
        return ""
    shown = ", ".join(f"{name} ({count})" for name, count in list(sources.items())[:_SOURCES_NAMED])
    more = f" and {len(sources) - _SOURCES_NAMED} more" if len(sources) > _SOURCES_NAMED else ""
    return f", from {shown}{more}"


def search_tool_parameters(*, max_results: int, limit: int, categories: bool) -> dict[str, Any]:
    """The JSON Schema of `tool_search`.

    The range of `max_results` is told, not enforced: a value outside is clamped rather than refused.
    """
    properties: dict[str, Any] = {
        "query": {"type": "string", "description": "What the tool should do, in a few specific words, or its name."},
        "max_results": {
            "type": "integer",
            "description": f"How many tools to return at most: 1 to {limit}, {max_results} if left out.",
        },
    }
    if categories:
        properties["category"] = {"type": "string", "description": "Only tools of this source or with this tag."}
    return {"type": "object", "properties": properties, "required": ["query"], "additionalProperties": False}


def describe_hits(new: Sequence[ToolHit], known: Sequence[ToolHit], notes: Iterable[str]) -> str:
    """The result of a search: the tools now in the list, those that were there before, and what else to know."""
    parts: list[str] = []
    if new:
        count = "1 tool" if len(new) == 1 else f"{len(new)} tools"
        parts.append(f"Found {count}, now in your tool list and ready to be called:\n{_lines(new)}")
    if known:
        parts.append(f"Already in your tool list, call directly:\n{_lines(known)}")
    parts.extend(note for note in notes if note)
    return "\n".join(parts)


def describe_revealed(tool: ToolReference) -> str:
    """The answer to a call of a tool that was not in the list yet."""
    schema = json.dumps(tool.parameters or {"type": "object", "properties": {}}, ensure_ascii=False)
    return (
        f"{tool.name} was not in your tool list and has not been run. It is loaded now; "
        f"call it again with arguments of this schema:\n{schema}"
    )


def is_load_answer(name: str, content: str) -> bool:
    """Whether `content` is `describe_revealed`'s answer for the tool `name`."""
    return content.startswith(f"{name} was not in your tool list and has not been run.")


def names_in_result(content: str) -> tuple[str, ...]:
    """The tools a result of `tool_search` names; none for a text of any other form."""
    return tuple(dict.fromkeys(_LISTED.findall(content)))


def _lines(hits: Sequence[ToolHit]) -> str:
    return "\n".join(f"- {hit.name}: {summary}" if (summary := _summary(hit)) else f"- {hit.name}" for hit in hits)


def _summary(hit: ToolHit) -> str:
    """The description in one line, cut at a word."""
    line = " ".join(hit.description.split())
    if len(line) <= _SUMMARY_LENGTH:
        return line
    head = line[: _SUMMARY_LENGTH - 1]
    return f"{head.rsplit(' ', 1)[0] if ' ' in head else head}…"
