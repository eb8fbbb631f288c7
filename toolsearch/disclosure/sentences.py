"""Every sentence of tool search that a model reads. No code depends on their wording: results carry a marker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..indexes.reference import ToolReference
from ..indexes.response import ToolHit
from ..text import one_line
from ..tools.names import NOTHING_TO_SEARCH, SEARCH_TOOL

__all__ = [
    "DEFAULT_INSTRUCTIONS",
    "PARAMETER_CATEGORY",
    "PARAMETER_QUERY",
    "SEARCH_TOOL",
    "budget_used_up",
    "hits_found",
    "index_reason",
    "nothing_fits",
    "parameter_max_results",
    "repeated_search",
    "search_tool_description",
    "sources_added",
    "tool_revealed",
    "unknown_tool",
]

DEFAULT_INSTRUCTIONS = (
    f"Most of your tools are not listed yet. If no listed tool fits the task, search for one with `{SEARCH_TOOL}` "
    "before you say that you cannot do it. The tools it finds are added to your list, and you call them like any other."
)
PARAMETER_QUERY = "What the tool should do, in a few specific words, or its name."
PARAMETER_CATEGORY = "Only tools of this source or with this tag."

MAX_SOURCES_NAMED = 30
MAX_SUMMARY_CHARACTERS = 160
MAX_SOURCE_CHARACTERS = 60
MAX_REASON_CHARACTERS = 1_000


def search_tool_description(count: int, sources: Mapping[str, int]) -> str:
    """Describe the search tool: what it does, and what there is to find."""
    return (
        f"Finds tools among the {count} that are available but not all listed{_from_sources(sources)}. "
        "Say in a few words what the tool should do, or give a name. "
        "The tools found are added to your tool list; this only finds them, it does not run them."
    )


def parameter_max_results(default: int, limit: int) -> str:
    """Describe the parameter `max_results`."""
    return f"How many tools to return at most: 1 to {limit}, {default} if left out."


def hits_found(new: Sequence[ToolHit], known: Sequence[ToolHit]) -> str:
    """List the hits of a search: those that are new in the tool list, then those that were in it before."""
    parts: list[str] = []
    if new:
        count = "1 tool" if len(new) == 1 else f"{len(new)} tools"
        parts.append(f"Found {count}, now in your tool list and ready to be called:\n{_lines(new)}")
    if known:
        parts.append(f"Already in your tool list, call directly:\n{_lines(known)}")
    return "\n".join(parts)


def index_reason(reason: str) -> str:
    """Show the reason that an index gives, which can quote the query, on a line that cannot look like a listed tool."""
    return one_line(reason, MAX_REASON_CHARACTERS).lstrip("- ")


def nothing_fits(*, explained: bool) -> str:
    """Advise the model after a search without hits; an index that explains itself also says what to try."""
    if explained:
        return "If no tool fits, say so."
    return "No tool was found: try other words; if no tool fits, say so."


def repeated_search(names: Sequence[str]) -> str:
    """Answer a search that was made before in this turn."""
    if not names:
        return "You searched for exactly this before and nothing was found; use other words, or do without a tool."
    return f"You searched for exactly this before and found {', '.join(names)}; call them, or use other words."


def budget_used_up(limit: int) -> str:
    """Reject a search above the limit of a turn."""
    return f"Not searched: the {limit} searches of this turn are used up. Use the tools you have, or answer."


def sources_added(sources: Mapping[str, int]) -> str:
    """Name sources that are newer than the description of the search tool."""
    return f"Since the conversation began, tools were added{_from_sources(sources)}." if sources else ""


def tool_revealed(tool: ToolReference) -> str:
    """Answer a call of a tool that was not in the tool list."""
    schema = json.dumps(tool.parameters or {"type": "object", "properties": {}}, ensure_ascii=False)
    return (
        f"{tool.name} was not in your tool list and has not been run. It is in your list now; "
        f"call it again with arguments of this schema:\n{schema}"
    )


def unknown_tool(shown_name: str, close: Sequence[str], *, searchable: bool) -> str:
    """Answer a call of a tool that does not exist for the session."""
    if not searchable and shown_name == repr(SEARCH_TOOL):
        return NOTHING_TO_SEARCH
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    search = f" Find the tool you need with {SEARCH_TOOL} first." if searchable else ""
    return f"There is no tool {shown_name}.{hint}{search}"


def _from_sources(sources: Mapping[str, int]) -> str:
    if not sources:
        return ""
    named = list(sources.items())[:MAX_SOURCES_NAMED]
    shown = ", ".join(f"{one_line(name, MAX_SOURCE_CHARACTERS)} ({count})" for name, count in named)
    more = f" and {len(sources) - MAX_SOURCES_NAMED} more" if len(sources) > MAX_SOURCES_NAMED else ""
    return f", from {shown}{more}"


def _lines(hits: Sequence[ToolHit]) -> str:
    return "\n".join(f"- {hit.name}: {summary}" if (summary := _summary(hit)) else f"- {hit.name}" for hit in hits)


def _summary(hit: ToolHit) -> str:
    """Return the description on one line, cut at a word."""
    line = " ".join(hit.description.split())
    if len(line) <= MAX_SUMMARY_CHARACTERS:
        return line
    head = line[: MAX_SUMMARY_CHARACTERS - 1]
    return f"{head.rsplit(' ', 1)[0] if ' ' in head else head}…"
