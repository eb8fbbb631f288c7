"""Search responses: hits with the terms that matched, and reasons for empty or weak responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Match", "ReasonCode", "SearchMetadata", "ToolHit", "ToolSearchResponse"]

ReasonCode: TypeAlias = Literal[
    "empty_query",  # The query contains nothing to search for.
    "nothing_indexed",  # The set of tools is empty.
    "unknown_session",  # No tools are indexed under this session id.
    "unknown_category",  # No tool has the category; the reason lists the existing ones.
    "no_match",  # No tool matches.
    "below_minimum",  # Tools match, but less of the query than `min_score` or `min_similarity` requires.
    "invalid_pattern",  # The query is an unusable regular expression; the reason says why.
    "weak_match",  # There are hits, but they match little of the query.
    "degraded",  # There are hits, but a part of the index was unavailable.
]
"""Codes for an empty, weak or incomplete response."""


@dataclass(frozen=True, slots=True)
class Match:
    """A term of the query and the fields of the tool that contain it.

    Args:
        term: The term as the query has it, or the whole query for an index that compares meaning.
        fields: The names of the fields, e.g. ``("name", "description")``.

    Example:
        >>> Match("weather", ("name",)).term
        'weather'
    """

    term: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolHit:
    """A tool that a search returns.

    Args:
        name: The tool's name.
        description: The tool's full description.
        score: The score; higher is better. Scores are comparable within one response only.
        matched: The terms that matched, most important first. Empty for an index that does not report them.

    Example:
        >>> ToolHit("get_weather", score=1.5).name
        'get_weather'
    """

    name: str
    description: str = ""
    score: float = 0.0
    matched: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchMetadata:
    """Facts about how a search was done.

    Args:
        search_type: The class name of the index, e.g. ``"Bm25ToolIndex"``.
        query: The query as the caller passed it.
        elapsed_ms: The wall time of the search in milliseconds.

    Example:
        >>> SearchMetadata("Bm25ToolIndex", "weather").query
        'weather'
    """

    search_type: str
    query: str
    elapsed_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchResponse:
    """The response to one search.

    Args:
        hits: The hits, best first. Hits with equal scores are in order of name.
        total_matches: The number of tools that match, including those that are not returned.
        metadata: The index that answered and the time it took.
        reason: A sentence for a person or a model that explains why the response is empty or weak; otherwise "".
        reason_code: The same reason as a code, or None.

    Example:
        >>> ToolSearchResponse(hits=(ToolHit("get_weather"),), total_matches=1).names
        ('get_weather',)
    """

    hits: tuple[ToolHit, ...] = ()
    total_matches: int = 0
    metadata: SearchMetadata | None = None
    reason: str = ""
    reason_code: ReasonCode | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the hits, best first."""
        return tuple(hit.name for hit in self.hits)
