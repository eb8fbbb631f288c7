"""Search by words, ranked by BM25: tantivy in memory."""

from __future__ import annotations

from collections.abc import Sequence

from ..checks import coerce_number_between
from ..lexical.empty_queries import NO_WORDS_REASON
from ..lexical.engine_errors import convert_engine_errors
from ..lexical.explain import Explainer
from ..lexical.query import ParsedQuery, parse
from ..lexical.tool_terms import shared_terms_cache
from ..lexical.vocabulary import Vocabulary
from ..ranking.catalog import Catalog, Category
from ..ranking.respond import respond
from ..ranking.scores import CANDIDATES, Note, Scores
from ..reference import ToolReference
from ..response import ToolSearchResponse
from ..text.clauses import CLAUSE_WEIGHT
from .name_boost import NameBoost

__all__ = ["Bm25ToolIndex"]

_CLAUSE_CANDIDATES = 20
_WANTED = 0.5
_CANDIDATES_ALONE = 40
_CANDIDATES_WITH_CLAUSES = 100
"""How many are scored at least when nothing is fused: the words of a name raise a score by a third at most."""
_FAMILIAR, _LEAST_WEIGHT = 0.2, 0.05
"""A request of which the tools know less than a fifth, as one in another language, is hardly judged by its words."""

_BELOW_MINIMUM = "Tools match in part, but none matches {:.0%} of the query; try fewer or other words."


class Bm25ToolIndex:
    """Finds tools by the words of a request, rare words first.

    Args:
        min_score: the least share, 0 to 1, of what a query says (its words weighed by rarity) that a tool must
            match, as a whole or in one clause; None asks for nothing.

    Raises:
        ConfigurationError: `min_score` is not between 0 and 1.

    Example:
        >>> from toolsearch.indexes import Bm25ToolIndex, ToolReference
        >>> searcher = Bm25ToolIndex().build([
        ...     ToolReference(name="get_weather", description="Current weather of a city"),
        ...     ToolReference(name="sendEmail", description="Send a message"),
        ... ])
        >>> searcher.search("what's the weather?").names
        ('get_weather',)
    """

    def __init__(self, min_score: float | None = None) -> None:
        self._min_score = coerce_number_between("min_score", min_score, 0, 1, "a fraction between 0 and 1") or 0.0

    def build(self, tools: Sequence[ToolReference]) -> Bm25Searcher:
        """Return a searcher over exactly `tools`.

        Raises:
            DuplicateToolError: two tools have one name.
            IndexingError: tantivy failed.
        """
        return Bm25Searcher(tools, self._min_score, type(self).__name__)

    def __repr__(self) -> str:
        return f"Bm25ToolIndex(min_score={self._min_score or None!r})"


class Bm25Searcher:
    """Searches one set of tools. Immutable and safe from many threads; made by `Bm25ToolIndex.build`."""

    def __init__(self, tools: Sequence[ToolReference], min_score: float, search_type: str) -> None:
        from .tantivy_engine import TermEngine

        self._catalog = Catalog(tools)
        self._min_score = min_score
        self._search_type = search_type
        with convert_engine_errors("the tools could not be indexed"):
            self._documents = shared_terms_cache.of(self._catalog.tools)
            self._vocabulary = Vocabulary(self._documents)
            self._engine = TermEngine(self._documents, self._catalog.keys, self._vocabulary)
            self._names = NameBoost(self._documents, self._vocabulary)

    @property
    def tools(self) -> tuple[ToolReference, ...]:
        """The tools searched, in order of name."""
        return self._catalog.tools

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        """Return the tools that fit `query`, best first."""
        return respond(
            self._catalog,
            lambda text, limit, within: self.scores(text, limit=limit, category=within),
            search_type=self._search_type,
            query=query,
            max_results=max_results,
            category=category,
            candidates=_CANDIDATES_ALONE,
        )

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Score the tools for a query; see `ScoredSearcher`."""
        parsed = parse(query, self._vocabulary)
        explainer = Explainer(parsed, self._documents, self._vocabulary)
        if not parsed.asked:
            return Scores(note=Note("empty_query", NO_WORDS_REASON), doubt=explainer.doubt)
        if not parsed.weights:
            return Scores(doubt=explainer.doubt)
        explainer = Explainer(parsed, self._documents, self._vocabulary)
        with convert_engine_errors("the search failed"):
            values, total, wishes = self._ranked(
                parsed, len(self._catalog) if self._min_score else limit, category, explainer
            )
        note: Note | None = None
        if self._min_score and values:
            values = {p: value for p, value in values.items() if explainer.share(p) >= self._min_score}
            total = len(values)
            note = None if values else Note("below_minimum", _BELOW_MINIMUM.format(self._min_score))
        return Scores(
            values=values,
            total=total,
            explain=explainer.matches,
            doubt=explainer.doubt,
            note=note,
            # Words keep the wishes of a request apart, where its one embedding lies between them all.
            weight=wishes * min(1.0, max(_LEAST_WEIGHT, parsed.matched_share(parsed.weights) / _FAMILIAR)),
        )

    def _ranked(
        self, parsed: ParsedQuery, limit: int, category: Category | None, explainer: Explainer
    ) -> tuple[dict[int, float], int | None, int]:
        """Score the whole text, and if it has several clauses each of them, so that a tool for one can win a place.

        Returns:
            The score by position, how many tools match in all, and how many tools are each the best for a clause
            of which they match half: as many wishes the request has at least.
        """
        engine = self._engine
        queries = {term: engine.query(term, weight) for term, weight in parsed.weights.items()}
        written = engine.as_written(parsed.written)
        if parsed.clauses:
            limit = max(limit, _CANDIDATES_WITH_CLAUSES)  # what is good for a clause may stand far down for the whole
        found, total = engine.best([*queries.values(), *written.values()], limit, category, count=True)
        whole = self._names.raised(found, parsed.weights)
        if not parsed.clauses or not whole:
            return whole, total, 1
        pooled: dict[int, float] = {}
        wanted: set[int] = set()
        for clause in parsed.clauses:
            own = [queries[term] for term in clause.terms]
            own += [written[text] for text in clause.written if text in written]
            found, _ = engine.best(own, _CLAUSE_CANDIDATES, category)
            scores = self._names.raised(found, clause.terms)
            best = max(scores, key=lambda position: (scores[position], -position), default=None)
            if best is None:
                continue
            if best not in wanted and explainer.clause_share(clause, best) >= _WANTED:
                wanted.add(best)
            # The root lets a weaker clause win a place without letting an empty one win outright.
            scale = scores[best] ** 0.5
            for position, score in scores.items():
                pooled[position] = max(pooled.get(position, 0.0), score / scale)
        highest, strongest = max(whole.values()), max(pooled.values(), default=1.0)
        return (
            {
                position: whole.get(position, 0.0) / highest + CLAUSE_WEIGHT * pooled.get(position, 0.0) / strongest
                for position in whole | pooled
            },
            total,
            max(1, len(wanted)),
        )
