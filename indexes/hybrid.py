"""`HybridToolIndex`: several indexes, one ranking."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from ..errors import ConfigurationError, IndexFailure, MissingExtraError
from .bm25 import Bm25ToolIndex
from .fusion import fuse_ranks, fuse_scores, ranking
from .protocols import ToolIndex, ToolSearcher
from .reference import ToolReference
from .response import Match, ToolSearchResponse
from .scoring import CANDIDATES, Catalog, Category, Note, ScoredSearcher, Scores, respond
from .vector import VectorToolIndex

__all__ = ["HybridToolIndex", "HybridToolSearcher"]

_log = logging.getLogger(__name__)


class HybridToolIndex:
    """Ranks by what several indexes say together, usually words (BM25) and meaning (vectors).

    Scores are fused as z-scores, so that it counts how far a tool stands out; an index that only ranks (any `ToolIndex`
    of your own) is fused by reciprocal ranks. Short queries lean on meaning, long ones on words.

    A part that fails is left out, with a warning in the log and a sentence in the response, as long as another works.
    When it fails at a search, it is asked again at the next. When it fails to build, the searcher stays without it and
    names it in `degraded`: build the set again later to have it back. `SessionToolIndex` does so, as it shares no
    degraded searcher. A missing extra or a wrong argument is no passing trouble and is raised.

    Args:
        parts: the indexes; by default `Bm25ToolIndex`, and `VectorToolIndex` if the extra ``vector`` is installed.

    Example:
        >>> tools = [ToolReference(name="get_weather"), ToolReference(name="send_mail")]
        >>> HybridToolIndex([Bm25ToolIndex()]).build(tools).search("weather").names
        ('get_weather',)
    """

    def __init__(self, parts: Sequence[ToolIndex] | None = None) -> None:
        self.parts: tuple[ToolIndex, ...] = _default_parts() if parts is None else tuple(parts)
        if not self.parts:
            raise ConfigurationError("a hybrid index needs at least one part")
        for part in self.parts:
            if isinstance(part, type) or not callable(getattr(part, "build", None)):
                raise ConfigurationError(f"a part of a hybrid index is an index with build(tools); got {part!r}")

    def build(self, tools: Sequence[ToolReference]) -> HybridToolSearcher:
        """Return a searcher over `tools`.

        Raises:
            IndexFailure: no part could be built.
            ConfigurationError: a part cannot work with its arguments, or two tools have one name.
            MissingExtraError: a part needs an extra that is not installed.
        """
        catalog = Catalog(tools)
        built: list[_Part | _ScoredPart] = []
        lost: list[str] = []
        failure: Exception | None = None
        for part in self.parts:
            name = type(part).__name__
            try:
                searcher = part.build(catalog.tools)
            except (ConfigurationError, MissingExtraError):
                raise
            except Exception as error:
                _log.warning("%s could not be built, the hybrid index goes on without it: %s", name, error)
                lost.append(name)
                failure = error
            else:
                within = getattr(searcher, "degraded", ())
                lost += within if isinstance(within, tuple) else [name] * bool(within)
                built.append(_ScoredPart(name, searcher) if _has_scores(searcher, catalog) else _Part(name, searcher))
        if not built:
            raise IndexFailure(f"no part of the hybrid index could be built; the last said: {failure}") from failure
        return HybridToolSearcher(catalog, built, lost)

    def __repr__(self) -> str:
        return f"HybridToolIndex({list(self.parts)!r})"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part that only ranks."""

    name: str
    searcher: ToolSearcher


@dataclass(frozen=True, slots=True)
class _ScoredPart:
    """A part whose scores can be fused."""

    name: str
    searcher: ScoredSearcher


@dataclass(frozen=True, slots=True)
class _Ranking:
    """What a part that only ranks answered, in positions of the catalog."""

    order: tuple[int, ...]
    matched: Mapping[int, tuple[Match, ...]]
    note: Note | None


class HybridToolSearcher:
    """Searches one set of tools with several searchers; made by `HybridToolIndex`. Immutable.

    Attributes:
        degraded: the parts that could not be built and are missing here; empty when all is well.
    """

    __slots__ = ("__weakref__", "_catalog", "_parts", "_positions", "degraded")

    def __init__(self, catalog: Catalog, parts: Sequence[_Part | _ScoredPart], degraded: Sequence[str] = ()) -> None:
        self.degraded = tuple(degraded)
        self._catalog = catalog
        self._parts = tuple(parts)
        self._positions = {tool.name: position for position, tool in enumerate(catalog.tools)}

    @property
    def tools(self) -> tuple[ToolReference, ...]:
        """The tools searched, in order of name."""
        return self._catalog.tools

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        """Return the tools that fit the query by all parts together.

        Raises:
            IndexFailure: every part failed.
        """
        return respond(
            self._catalog,
            lambda text, limit, found: self.scores(text, limit=limit, category=found),
            search_type="HybridToolIndex",
            query=query,
            max_results=max_results,
            category=category,
        )

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Return the fused scores of the tools that any part matched.

        Raises:
            IndexFailure: every part failed.
        """
        scored: list[Scores] = []
        ranked: list[_Ranking] = []
        lost = list(self.degraded)
        failure: Exception | None = None
        for part in self._parts:
            try:
                if isinstance(part, _ScoredPart):
                    scored.append(part.searcher.scores(query, limit=limit, category=category))
                else:
                    ranked.append(self._ranked(part.searcher, query, category))
            except Exception as error:
                _log.warning("%s failed, this hybrid search goes on without it: %s", part.name, error)
                lost.append(part.name)
                failure = error
        if not scored and not ranked:
            raise IndexFailure(f"no part of the hybrid index could search; the last said: {failure}") from failure
        fused = fuse_scores(scored, len(self.tools), limit=limit, category=category)
        if ranked:
            fused = _with_ranks(fused, len(scored), ranked)
        notes = [part.note for part in scored] + [part.note for part in ranked]
        sure = bool(ranked) or any(part.dense is not None for part in scored)
        return replace(
            fused,
            explain=lambda position: _explained(scored, ranked, position),
            doubt=lambda positions: "" if sure else _doubt(scored, positions),
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
        return _Ranking(tuple(matched), matched, note)


def _default_parts() -> tuple[ToolIndex, ...]:
    packages = ("numpy", "faiss", "sentence_transformers")
    if all(importlib.util.find_spec(package) is not None for package in packages):
        return Bm25ToolIndex(), VectorToolIndex()
    return (Bm25ToolIndex(),)


def _has_scores(searcher: ToolSearcher, catalog: Catalog) -> TypeGuard[ScoredSearcher]:
    """Whether its scores are to be had, and count positions as this catalog does."""
    return callable(getattr(searcher, "scores", None)) and getattr(searcher, "tools", None) == catalog.tools


def _with_ranks(fused: Scores, votes: int, ranked: Sequence[_Ranking]) -> Scores:
    """Fuse by rank: the scored parts have one order, which counts for as many as they are."""
    rankings = [ranking(fused.values), *(part.order for part in ranked)]
    values = fuse_ranks(rankings, [float(votes), *(1.0 for _ in ranked)])
    return Scores(values=values, total=max(len(values), fused.total or 0))


def _explained(scored: Sequence[Scores], ranked: Sequence[_Ranking], position: int) -> tuple[Match, ...]:
    matches = [match for part in scored for match in part.explain(position)]
    matches += [match for part in ranked for match in part.matched.get(position, ())]
    return tuple(dict.fromkeys(matches))


def _doubt(scored: Sequence[Scores], positions: Sequence[int]) -> str:
    """Return the first part's doubt, if all have one."""
    doubts = [part.doubt(positions) for part in scored]
    return doubts[0] if doubts and all(doubts) else ""


def _warning(lost: Sequence[str]) -> str:
    if not lost:
        return ""
    names = " and ".join(dict.fromkeys(lost))
    return f"Part of this search is unavailable at present ({names}); what is found comes from the rest."
