"""Base class of the searchers that score tools: filters, orders and explains in one place."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from ...text import one_line, short_repr
from ..checks import coerce_search_arguments
from ..reference import ToolReference
from ..response import SearchMetadata, ToolHit, ToolSearchResponse
from .catalog import Catalog, Category
from .scores import CANDIDATES, Note, Scores

__all__ = ["ScoredSearcher"]

_MAX_CATEGORIES_LISTED = 20
_MAX_LABEL_CHARACTERS = 60


class ScoredSearcher(ABC):
    """Searcher whose subclasses only score tools. Internal: a custom index returns a `ToolSearcher`.

    `search` finds the category, ranks tools that the query names first, sorts, cuts and counts, and explains an empty
    or weak response. A hybrid index fuses the scores of several such searchers.

    Args:
        catalog: The tools to search.
        search_type: The class name of the index, for the response.
    """

    min_candidates: ClassVar[int] = CANDIDATES
    """The minimum number of best tools that `search` asks to be scored."""

    def __init__(self, catalog: Catalog, search_type: str) -> None:
        self._catalog = catalog
        self._search_type = search_type

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._catalog)} tools>"

    @property
    def tools(self) -> tuple[ToolReference, ...]:
        """The tools searched, in order of name. Positions in `Scores` are positions in this tuple."""
        return self._catalog.tools

    @abstractmethod
    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Score the tools for a query, to be fused with other scores.

        Args:
            query: The query as the caller passed it, not blank. It can contain lone surrogates.
            limit: The minimum number of best matches in the result, if so many match.
            category: The category that tools must have. A subclass may ignore it: other tools are dropped later.
        """

    def standalone_scores(self, query: str, *, limit: int, category: Category | None) -> Scores:
        """Score the tools for a query, for a search by this searcher alone. By default the same as `scores`."""
        return self.scores(query, limit=limit, category=category)

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        """Return the tools that match a query, best first.

        Args:
            query: The query.
            max_results: The maximum number of hits. Less than 1 returns none.
            category: A source or tag that the tools must have. Case and separators are ignored; blank means none.

        Raises:
            ConfigurationError: If an argument has the wrong type.
            IndexingError: If scoring fails.
        """
        started = time.perf_counter()
        query, max_results, category = coerce_search_arguments(query, max_results, category)
        catalog = self._catalog
        wanted = max(0, min(max_results, len(catalog)))
        found: Category | None = None
        scores, note = Scores(), None
        if not len(catalog):
            note = Note("nothing_indexed", "There are no tools to search.")
        elif category is not None and category.strip() and (found := catalog.category(category)) is None:
            note = Note("unknown_category", _explain_unknown_category(category, catalog.labels))
        elif not query.strip():
            note = Note("empty_query", "The query is empty; say in a few words what the tool should do.")
        else:
            scores = self.standalone_scores(query, limit=max(self.min_candidates, wanted), category=found)
        values, has_named = _filter_and_boost(catalog, query, scores, found) if note is None else ({}, False)
        order = _select_best(values, wanted)
        hits = tuple(
            ToolHit(catalog.tools[p].name, catalog.tools[p].description, values[p], scores.explain(p)) for p in order
        )
        if note is None:
            note = _note_on(scores, order, values, has_named, category if found else None)
            if warning := scores.warning:
                note = Note(note.code, f"{note.sentence} {warning}") if note else Note("degraded", warning)
        return ToolSearchResponse(
            hits=hits,
            total_matches=max(len(values), scores.total or 0),
            metadata=SearchMetadata(self._search_type, query, (time.perf_counter() - started) * 1000),
            reason=note.sentence if note else "",
            reason_code=note.code if note else None,
        )


def _select_best(values: Mapping[int, float], wanted: int) -> list[int]:
    """Return the `wanted` best positions, best first. Equal scores are in order of position."""
    if not wanted:
        return []
    candidates: Iterable[int] = values
    if len(values) > wanted:
        lowest = sorted(values.values(), reverse=True)[wanted - 1]
        candidates = [position for position, value in values.items() if value >= lowest]
    return sorted(candidates, key=lambda position: (-values[position], position))[:wanted]


def _filter_and_boost(
    catalog: Catalog, query: str, scores: Scores, category: Category | None
) -> tuple[Mapping[int, float], bool]:
    """Drop tools outside the category and raise tools that the query names above all others.

    Returns:
        Position -> score, and whether the query names a tool. A named tool gains a multiple of the best score, so an
        exact spelling ranks above a variant.
    """
    positions = None if category is None else category.positions
    values = scores.values if positions is None else {p: v for p, v in scores.values.items() if p in positions}
    named = {p: s for p, s in catalog.named_in(query).items() if positions is None or p in positions}
    if not named:
        return values, False
    best = max(values.values(), default=0.0)
    unit = best if best > 0 else 1.0
    return {**values, **{p: max(0.0, values.get(p, 0.0)) + unit * boost for p, boost in named.items()}}, True


def _note_on(
    scores: Scores, order: Sequence[int], values: Mapping[int, float], has_named: bool, category: str | None
) -> Note | None:
    """Return the note on an empty or weak response, or None."""
    if not values:
        if scores.note is not None:
            return scores.note
        within = f" in the category {short_repr(category)}" if category else ""
        return Note("no_match", f"No tool{within} matches; try other words for what the tool should do.")
    if not order or has_named:
        return None
    doubt = scores.doubt(order)
    return Note("weak_match", doubt) if doubt else None


def _explain_unknown_category(label: str, labels: Sequence[str]) -> str:
    if not labels:
        return f"There is no category {short_repr(label)}: these tools have none; search without a category."
    shown = ", ".join(one_line(label, _MAX_LABEL_CHARACTERS) for label in labels[:_MAX_CATEGORIES_LISTED])
    hidden = len(labels) - _MAX_CATEGORIES_LISTED
    more = f" and {hidden} more" if hidden > 0 else ""
    return f"There is no category {short_repr(label)}. There are: {shown}{more}."
