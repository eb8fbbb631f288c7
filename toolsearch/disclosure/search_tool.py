"""The search tool: its definition, bound to a turn."""

from __future__ import annotations

from typing import Any

from ..errors import IndexingError, ToolSearchError
from ..tools.tool_type import Tool
from . import sentences
from .sentences import SEARCH_TOOL
from .turn import DisclosureTurn

__all__ = ["SEARCH_TOOL", "bind_search_tool", "search_tool_parameters"]

_NO_CATEGORY = ("", "none", "null", "all", "any")
"""Words, in lower case, that models write for an argument that they leave out."""


def search_tool_parameters(*, max_results: int, limit: int, categories: bool) -> dict[str, Any]:
    """Return the JSON Schema of the search tool's parameters.

    The schema only describes the range of `max_results`; out-of-range values are clamped.
    """
    properties: dict[str, Any] = {
        "query": {"type": "string", "description": sentences.PARAMETER_QUERY},
        "max_results": {"type": "integer", "description": sentences.parameter_max_results(max_results, limit)},
    }
    if categories:
        properties["category"] = {"type": "string", "description": sentences.PARAMETER_CATEGORY}
    return {"type": "object", "properties": properties, "required": ["query"], "additionalProperties": False}


def bind_search_tool(turn: DisclosureTurn) -> Tool:
    """Return the tool that searches in `turn`."""
    settings = turn.settings

    def search(query: str, max_results: float | None = None, category: str | None = None) -> str:
        chosen = None if category is None or category.strip().casefold() in _NO_CATEGORY else category
        try:
            return turn.search(query, None if max_results is None else int(max_results), chosen)
        except ToolSearchError:
            raise
        except Exception as error:  # of an index or a filter, whose text is not for the model
            raise IndexingError(f"tool search failed: {type(error).__name__}: {error}") from error

    return Tool(
        SEARCH_TOOL,
        turn.offer.description,
        search_tool_parameters(
            max_results=settings.max_results, limit=settings.max_results_limit, categories=turn.offer.categories
        ),
        search,
        source=SEARCH_TOOL,
        concurrent=False,  # parallel searches reveal tools in the order of their calls
    )
