"""Request of a search in one session."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

__all__ = ["ToolSearchRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchRequest:
    """A search within the tools of one session.

    Args:
        session_id: The session, any hashable value, e.g. a string or a (tenant, session) pair.
        query: The query in words.
        max_results: The maximum number of hits. None means 5.
        category: A source or tag that all hits must have.

    Example:
        >>> ToolSearchRequest(session_id=("acme", "42"), query="weather").max_results is None
        True
    """

    session_id: Hashable
    query: str
    max_results: int | None = None
    category: str | None = None
