"""From scores to an answer: the one place where every index filters, orders and explains.

An index scores; `respond` does the rest: it finds the category, puts named tools first, orders,
cuts, counts, and says why an answer is empty or weak.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..checks import coerce_search_arguments
from ..response import SearchMetadata, ToolHit, ToolSearchResponse
from .catalog import Catalog, Category
from .scores import CANDIDATES, Note, Scores

__all__ = ["respond"]

_CATEGORIES_NAMED = 20
"""By how many times the best score a named tool is lifted: above all others, the very spelling above variants."""


def respond(
    catalog: Catalog,
    score: Callable[[str, int, Category | None], Scores],
    *,
    search_type: str,
    query: str,
    max_results: int,
    category: str | None,
    candidates: int = CANDIDATES,
) -> ToolSearchResponse:
    """Answer one search: filter, order, cut, count, explain.

    Args:
        catalog: what is searched.
        score: called with the query, how many of the best are wanted, and the category, if any.
        search_type: the index's class name.
        query: as the caller gave it.
        max_results: at most this many hits; less than 1 gives none.
        category: a source or tag, in any casing and with any separators; blank means none.
        candidates: how many of the best to ask `score` for at least.

    Raises:
        ConfigurationError: an argument of the search is of the wrong kind.
    """
    started = time.perf_counter()
    query, max_results, category = coerce_search_arguments(query, max_results, category)
    wanted = max(0, min(max_results, len(catalog)))
    found: Category | None = None
    scores, note = Scores(), None
    if not len(catalog):
        note = Note("nothing_indexed", "There are no tools to search.")
    elif category is not None and category.strip() and (found := catalog.category(category)) is None:
        note = Note("unknown_category", _unknown_category(category, catalog.labels))
    elif not query.strip():
        note = Note("empty_query", "The query is empty; say in a few words what the tool should do.")
    else:
        scores = score(query, max(candidates, wanted), found)
    values, named = _admitted(catalog, query, scores, found) if note is None else ({}, False)
    order = _best(values, wanted)
    hits = tuple(
        ToolHit(catalog.tools[p].name, catalog.tools[p].description, values[p], scores.explain(p)) for p in order
    )
    if note is None:
        note = _judged(scores, order, values, named, category if found else None)
        if scores.warning:
            note = Note(note.code, f"{note.sentence} {scores.warning}") if note else Note("degraded", scores.warning)
    return ToolSearchResponse(
        hits=hits,
        total_matches=max(len(values), scores.total or 0),
        metadata=SearchMetadata(search_type, query, (time.perf_counter() - started) * 1000),
        reason=note.sentence if note else "",
        reason_code=note.code if note else None,
    )


def _best(values: Mapping[int, float], wanted: int) -> list[int]:
    """Return the `wanted` best positions, best first; of equal ones the first."""
    if not wanted:
        return []
    candidates: Iterable[int] = values
    if len(values) > wanted:
        least = sorted(values.values(), reverse=True)[wanted - 1]
        candidates = [position for position, value in values.items() if value >= least]
    return sorted(candidates, key=lambda position: (-values[position], position))[:wanted]


def _admitted(
    catalog: Catalog, query: str, scores: Scores, category: Category | None
) -> tuple[Mapping[int, float], bool]:
    """Return the scores of the tools in the category, named ones lifted above all, and whether there is a named one."""
    inside = None if category is None else category.positions
    values = scores.values if inside is None else {p: v for p, v in scores.values.items() if p in inside}
    named = {p: s for p, s in catalog.named_in(query).items() if inside is None or p in inside}
    if not named:
        return values, False
    best = max(values.values(), default=0.0)
    unit = best if best > 0 else 1.0
    return {**values, **{p: max(0.0, values.get(p, 0.0)) + unit * surety for p, surety in named.items()}}, True


def _judged(
    scores: Scores, order: Sequence[int], values: Mapping[int, float], named: bool, category: str | None
) -> Note | None:
    if not values:
        if scores.note is not None:
            return scores.note
        within = f" in the category {category!r}" if category else ""
        return Note("no_match", f"No tool{within} matches; try other words for what the tool should do.")
    if not order or named:
        return None
    doubt = scores.doubt(order)
    return Note("weak_match", doubt) if doubt else None


def _unknown_category(asked: str, labels: Sequence[str]) -> str:
    if not labels:
        return f"There is no category {asked!r}: these tools have none; search without a category."
    shown = ", ".join(labels[:_CATEGORIES_NAMED])
    more = f" and {len(labels) - _CATEGORIES_NAMED} more" if len(labels) > _CATEGORIES_NAMED else ""
    return f"There is no category {asked!r}. There are: {shown}{more}."
