"""`ToolExample`: an earlier request and a tool that served it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ToolExample"]


@dataclass(frozen=True, slots=True)
class ToolExample:
    """A request that a tool served. The text is stored as it is: remove personal details before.

    Args:
        query: The request or the search query.
        digest: The `digest` of the tool's `ToolReference`. An example of another definition is ignored.

    Example:
        >>> from toolsearch.indexes import ToolReference
        >>> ToolExample("will it rain", ToolReference(name="forecast").digest).query
        'will it rain'
    """

    query: str
    digest: bytes
