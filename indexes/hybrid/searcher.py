"""Searches with several searchers at once; what `HybridToolIndex` builds."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from ...errors import IndexingError
from ..protocols import ToolSearcher
from ..ranking.catalog import Catalog, Category
from ..ranking.fusion import fuse_ranks, fuse_scores, ranking
from ..ranking.scored_searcher import ScoredSearcher
from ..ranking.scores import CANDIDATES, Note, Scores
from ..response import Match

__all__ = ["HybridToolSearcher", "Part", "ScoredPart", "as_part"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """A part that only ranks."""

    name: str
    searcher: ToolSearcher


@dataclass(frozen=True, slots=True)
class ScoredPart:
    """A part whose scores can be fused."""

    name: str
    searcher: ScoredSearcher


@dataclass(frozen=True, slots=True)
class _Ranking:
    """What a part that only ranks answered, in positions of the catalog; `doubt` if it finds that weak itself."""

    order: tuple[int, ...]
    matched: Mapping[int, tuple[Match, ...]]
    note: Note | None
    doubt: str


class HybridToolSearcher(ScoredSearcher):
    """Searches one set of tools with several searchers; made by `HybridToolIndex`. Immutable.

    Args:
        catalog: what is searched.
        parts: the searchers, in the order of the index's parts; None for one that could not be built.
        degraded: the names of what could not be built.

    Attributes:
        degraded: the parts that could not be built and are missing here; empty when all is well.
    """

    def __init__(
        self, catalog: Catalog, parts: Sequence[Part | ScoredPart | None], degraded: Sequence[str] = ()
    ) -> None:
        super().__init__(catalog, "HybridToolIndex")
        self.degraded = tuple(degraded)
        self.parts = tuple(parts)
        self._positions = {tool.name: position for position, tool in enumerate(catalog.tools)}

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Return the fused scores of the tools that any part matched.

        Raises:
            IndexingError: every part failed.
        """
        scored: list[Scores] = []
        ranked: list[_Ranking] = []
        lost = list(self.degraded)
        failure: Exception | None = None
        for part in self.parts:
            if part is None:
                continue
            try:
                if isinstance(part, ScoredPart):
                    scored.append(part.searcher.scores(query, limit=limit, category=category))
                else:
                    ranked.append(self._ranked(part.searcher, query, category))
            except Exception as error:
                _log.warning(
                    "toolsearch.hybrid_part_failed %s failed, this search goes on without it: %s",
                    part.name,
                    str(error),
                    extra={"index": part.name, "error_type": type(error).__name__},
                )
                lost.append(part.name)
                failure = error
        if not scored and not ranked:
            raise IndexingError(f"no part of the hybrid index could search; the last said: {failure}") from failure
        del failure  # its traceback holds this frame
        fused = fuse_scores(scored, len(self.tools), limit=limit, category=category)
        if ranked:
            fused = _with_ranks(fused, len(scored), ranked)
        notes = [part.note for part in scored] + [part.note for part in ranked]
        return replace(
            fused,
            explain=lambda position: _explained(scored, ranked, position),
            doubt=lambda positions: _doubt(scored, ranked, positions),
            note=next((note for note in notes if note), None),
            warning=_warning(lost) or next((part.warning for part in scored if part.warning), ""),
        )

    def _ranked(self, searcher: ToolSearcher, query: str, category: Category | None) -> _Ranking:
        # Asked for everything and filtered here: whether it knows this category, by this spelling, is not certain.
        response = searcher.search(query, max_results=len(self.tools))
        matched: dict[int, tuple[Match, ...]] = {}
        for hit in response.hits:
            position = self._positions.get(hit.name)
            if position is not None and (category is None or position in category.positions):
                matched.setdefault(position, hit.matched)
        note = Note(response.reason_code, response.reason) if response.reason_code and not response.hits else None
        doubt = response.reason if note or response.reason_code == "weak_match" else ""
        return _Ranking(tuple(matched), matched, note, doubt)


def as_part(name: str, searcher: ToolSearcher, catalog: Catalog) -> Part | ScoredPart:
    """Return `searcher` as a part: fused by its scores where they are to be had, else by its ranks."""
    return ScoredPart(name, searcher) if _has_scores(searcher, catalog) else Part(name, searcher)


def _has_scores(searcher: ToolSearcher, catalog: Catalog) -> TypeGuard[ScoredSearcher]:
    """Whether its scores are to be had, and count positions as this catalog does."""
    return isinstance(searcher, ScoredSearcher) and searcher.tools == catalog.tools


def _with_ranks(fused: Scores, votes: int, ranked: Sequence[_Ranking]) -> Scores:
    """Fuse by rank: the scored parts have one order, which counts for as many as they are."""
    rankings = [ranking(fused.values), *(part.order for part in ranked)]
    values = fuse_ranks(rankings, [float(votes), *(1.0 for _ in ranked)])
    return Scores(values=values, total=max(len(values), fused.total or 0))


def _explained(scored: Sequence[Scores], ranked: Sequence[_Ranking], position: int) -> tuple[Match, ...]:
    matches = [match for part in scored for match in part.explain(position)]
    matches += [match for part in ranked for match in part.matched.get(position, ())]
    return tuple(dict.fromkeys(matches))


def _doubt(scored: Sequence[Scores], ranked: Sequence[_Ranking], positions: Sequence[int]) -> str:
    """Return a doubt if every part has one: that of a part that knows all tools, for it is about what is shown."""
    if not all(part.doubt for part in ranked):
        return ""
    doubts: list[str] = []
    for part in sorted(scored, key=lambda part: part.dense is None):
        doubts.append(part.doubt(positions))
        if not doubts[-1]:
            return ""
    return next(iter([*doubts, *(part.doubt for part in ranked)]), "")


def _warning(lost: Sequence[str]) -> str:
    if not lost:
        return ""
    names = " and ".join(dict.fromkeys(lost))
    return f"Part of this search is unavailable at present ({names}); what is found comes from the rest."
