"""What a search answers: hits with the reason for each, and the reason when there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Match", "ReasonCode", "SearchMetadata", "ToolHit", "ToolSearchResponse"]

ReasonCode: TypeAlias = Literal[
    "empty_query",  # the query holds nothing to search for
    "nothing_indexed",  # the set, or the session, has no tools
    "unknown_session",  # no set was indexed under this session id
    "unknown_category",  # the category does not exist; the sentence names those that do
    "no_match",  # nothing fits
    "below_minimum",  # something matched, but less than `min_score` of the query
    "invalid_pattern",  # the query is a regular expression that cannot be used; the sentence says why
    "weak_match",  # there are hits, but they hardly have to do with the query
    "degraded",  # there are hits, but a part of the index could not be asked
]


@dataclass(frozen=True, slots=True)
class Match:
    """One term of a query and the fields of the tool it was found in, e.g. ``Match("weather", ("name",))``."""

    term: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolHit:
    """One tool found.

    Args:
        name: the tool's name.
        description: its description, whole.
        score: higher is better; comparable within one response only.
        matched: which terms matched in which fields, best first; empty where an index cannot tell.
    """

    name: str
    description: str = ""
    score: float = 0.0
    matched: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchMetadata:
    """How the search was done.

    Args:
        search_type: the index's class name, e.g. ``"Bm25ToolIndex"``.
        query: the query as it was given.
        elapsed_ms: wall time of the search in milliseconds.
    """

    search_type: str
    query: str
    elapsed_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchResponse:
    """The answer to one search.

    Args:
        hits: best first; ties in order of name.
        total_matches: how many tools matched, not how many are returned.
        metadata: which index answered and in what time.
        reason: why it is empty or weak, as a sentence for a person or a model; empty when all is well.
        reason_code: the same for a program.
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
