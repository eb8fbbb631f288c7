"""Searcher of `HybridToolIndex`: searches with several searchers and fuses their results."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from ...errors import IndexingError
from ...text.logs import log_event
from ..protocols import ToolSearcher
from ..ranking.catalog import Catalog, Category
from ..ranking.fusion import fuse_ranks, fuse_scores, rank_positions
from ..ranking.scored_searcher import ScoredSearcher
from ..ranking.scores import CANDIDATES, Note, Scores
from ..response import Match

__all__ = ["HybridToolSearcher", "Part", "ScoredPart", "make_part"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """A part that only ranks tools."""

    name: str
    searcher: ToolSearcher


@dataclass(frozen=True, slots=True)
class ScoredPart:
    """A part with scores that can be fused."""

    name: str
    searcher: ScoredSearcher


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Response of a part that only ranks, in positions of the catalog.

    Args:
        order: The positions, best first.
        matched: The terms that each tool matches.
        note: The reason why `order` is empty, or None.
        doubt: The reason why the part calls its response weak, or "".
    """

    order: tuple[int, ...]
    matched: Mapping[int, tuple[Match, ...]]
    note: Note | None
    doubt: str


class HybridToolSearcher(ScoredSearcher):
    """Searcher that `HybridToolIndex` builds. Immutable, and thread-safe if its parts are.

    Args:
        catalog: The tools to search.
        parts: The searchers, in the order of the index's parts, with None for a part that could not be built.
        degraded: The names of the parts that could not be built.

    Attributes:
        degraded: The names of the parts that could not be built; empty if the searcher is complete.
        parts: The searchers.
    """

    def __init__(
        self, catalog: Catalog, parts: Sequence[Part | ScoredPart | None], degraded: Sequence[str] = ()
    ) -> None:
        super().__init__(catalog, "HybridToolIndex")
        self.degraded = tuple(degraded)
        self.parts = tuple(parts)
        self._positions = {tool.name: position for position, tool in enumerate(catalog.tools)}

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Return the fused scores of all tools that a part matches.

        Raises:
            IndexingError: If every part fails.
        """
        scored: list[Scores] = []
        ranked: list[_Ranking] = []
        unavailable = list(self.degraded)
        failure: Exception | None = None
        for part in self.parts:
            if part is None:
                continue
            try:
                if isinstance(part, ScoredPart):
                    scored.append(part.searcher.scores(query, limit=limit, category=category))
                else:
                    ranked.append(self._rank(part.searcher, query, category))
            except Exception as error:
                facts = {"index": part.name}  # the error's own text can quote the query
                note = "; this search continues without it"
                log_event(logger, logging.WARNING, "hybrid_part_failed", facts, error=error, show_text=False, note=note)
                unavailable.append(part.name)
                failure = error
        if not scored and not ranked:
            raise IndexingError(f"every part of the hybrid index failed; the last error: {failure}") from failure
        del failure  # its traceback references this frame
        fused = fuse_scores(scored, len(self.tools), limit=limit, category=category)
        if ranked:
            fused = _fuse_with_ranks(fused, len(scored), ranked)
        notes = [part.note for part in scored] + [part.note for part in ranked]
        return replace(
            fused,
            explain=lambda position: _all_matches(scored, ranked, position),
            doubt=lambda positions: _doubt(scored, ranked, positions),
            note=next((note for note in notes if note), None),
            warning=_explain_unavailable(unavailable) or next((part.warning for part in scored if part.warning), ""),
        )

    def _rank(self, searcher: ToolSearcher, query: str, category: Category | None) -> _Ranking:
        # Filtered here: a custom index may not support categories or this spelling.
        response = searcher.search(query, max_results=len(self.tools))
        matched: dict[int, tuple[Match, ...]] = {}
        for hit in response.hits:
            position = self._positions.get(hit.name)
            if position is not None and (category is None or position in category.positions):
                matched.setdefault(position, hit.matched)
        note = Note(response.reason_code, response.reason) if response.reason_code and not response.hits else None
        doubt = response.reason if note or response.reason_code == "weak_match" else ""
        return _Ranking(tuple(matched), matched, note, doubt)


def make_part(name: str, searcher: ToolSearcher, catalog: Catalog) -> Part | ScoredPart:
    """Return a searcher as a part, with scores if it provides them for the same tools."""
    return ScoredPart(name, searcher) if _has_scores(searcher, catalog) else Part(name, searcher)


def _has_scores(searcher: ToolSearcher, catalog: Catalog) -> TypeGuard[ScoredSearcher]:
    """Return whether a searcher provides scores for the positions of this catalog."""
    return isinstance(searcher, ScoredSearcher) and searcher.tools == catalog.tools


def _fuse_with_ranks(fused: Scores, weight: int, ranked: Sequence[_Ranking]) -> Scores:
    """Fuse by rank. The scored parts together are one ranking, whose weight is their number."""
    rankings = [rank_positions(fused.values), *(part.order for part in ranked)]
    values = fuse_ranks(rankings, [float(weight), *(1.0 for _ in ranked)])
    return Scores(values=values, total=max(len(values), fused.total or 0))


def _all_matches(scored: Sequence[Scores], ranked: Sequence[_Ranking], position: int) -> tuple[Match, ...]:
    matches = [match for part in scored for match in part.explain(position)]
    matches += [match for part in ranked for match in part.matched.get(position, ())]
    return tuple(dict.fromkeys(matches))


def _doubt(scored: Sequence[Scores], ranked: Sequence[_Ranking], positions: Sequence[int]) -> str:
    """Return a doubt if every part has one, preferably that of a part that scores all tools."""
    if not all(part.doubt for part in ranked):
        return ""
    doubts: list[str] = []
    for part in sorted(scored, key=lambda part: part.dense is None):
        doubts.append(part.doubt(positions))
        if not doubts[-1]:
            return ""
    return next(iter([*doubts, *(part.doubt for part in ranked)]), "")


def _explain_unavailable(parts: Sequence[str]) -> str:
    if not parts:
        return ""
    names = " and ".join(dict.fromkeys(parts))
    return f"A part of the index is unavailable ({names}); the hits come from the other parts."
