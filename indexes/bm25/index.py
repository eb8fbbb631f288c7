"""`Bm25ToolIndex`: search by words, ranked by BM25 with tantivy."""

from __future__ import annotations

from collections.abc import Sequence

from ..checks import coerce_number_between
from ..lexical.empty_queries import NO_WORDS_REASON
from ..lexical.engine_errors import convert_engine_errors
from ..lexical.explain import Explainer
from ..lexical.query import ParsedQuery, parse_query
from ..lexical.tool_terms import shared_terms_cache
from ..lexical.vocabulary import Vocabulary
from ..protocols import ToolSearcher
from ..ranking.catalog import Catalog, Category
from ..ranking.scored_searcher import ScoredSearcher
from ..ranking.scores import CANDIDATES, Note, Scores
from ..reference import ToolReference
from ..text.clauses import CLAUSE_WEIGHT
from .name_boost import NameBoost

__all__ = ["Bm25ToolIndex"]

_MIN_CANDIDATES_PER_CLAUSE = 20
_MIN_CANDIDATES = 40
"""Minimum number of tools that `search` scores. The name boost reorders them: it raises a score by up to 30%."""
_MIN_CANDIDATES_WITH_CLAUSES = 100
"""The same for a request with clauses: the best tool for a clause can have a low rank for the whole request."""
_INTENT_SHARE_THRESHOLD = 0.5
"""Share of a clause that its best tool must match for the clause to count as an intent."""
_FULL_WEIGHT_SHARE = 0.2
"""Share of known words from which a hybrid index gives full weight to words. Other languages have a smaller share."""
_MIN_WEIGHT = 0.05

_BELOW_MINIMUM = "Some tools match in part, but none matches {:.0%} of the query; try fewer or other words."


class Bm25ToolIndex:
    """Index that finds tools by the words of a request. Rare words count more than common ones.

    Words are compared as stems. Misspelled words, synonyms of verbs and compound words are found with a lower weight.
    A request with several clauses finds a tool for each.

    Args:
        min_score: The share of the query, 0 to 1, that a tool must match, as a whole or in one clause. Words are
            weighted by rarity. None returns every tool that matches a word.

    Raises:
        ConfigurationError: If `min_score` is not a number between 0 and 1.

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

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        """Return a searcher over exactly `tools`.

        Raises:
            DuplicateToolError: If two tools have the same name.
            IndexingError: If tantivy fails.
        """
        return Bm25Searcher(tools, self._min_score, type(self).__name__)

    def __repr__(self) -> str:
        return f"Bm25ToolIndex(min_score={self._min_score or None!r})"


class Bm25Searcher(ScoredSearcher):
    """Searcher that `Bm25ToolIndex` builds. Immutable and thread-safe.

    Args:
        tools: The tools to search.
        min_score: The share of the query that a tool must match.
        search_type: The class name of the index, for the response.
    """

    min_candidates = _MIN_CANDIDATES

    def __init__(self, tools: Sequence[ToolReference], min_score: float, search_type: str) -> None:
        from .tantivy_engine import TermEngine

        super().__init__(Catalog(tools), search_type)
        self._min_score = min_score
        with convert_engine_errors("the tools could not be indexed"):
            self._documents = shared_terms_cache.get(self._catalog.tools)
            self._vocabulary = Vocabulary(self._documents)
            self._engine = TermEngine(self._documents, self._catalog.keys, self._vocabulary)
            self._name_boost = NameBoost(self._documents, self._vocabulary)

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Score the tools for a query, to be fused with other scores."""
        parsed = parse_query(query, self._vocabulary)
        explainer = Explainer(parsed, self._documents, self._vocabulary)
        if not parsed.answers:
            return Scores(note=Note("empty_query", NO_WORDS_REASON), doubt=explainer.doubt)
        if not parsed.weights:
            return Scores(doubt=explainer.doubt)
        with convert_engine_errors("the search failed"):
            values, total, intents = self._rank(
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
            # Words tell the intents of a request apart, while its single embedding lies between them.
            weight=intents * min(1.0, max(_MIN_WEIGHT, parsed.matched_share(parsed.weights) / _FULL_WEIGHT_SHARE)),
        )

    def _rank(
        self, parsed: ParsedQuery, limit: int, category: Category | None, explainer: Explainer
    ) -> tuple[dict[int, float], int | None, int]:
        """Score the whole request and each of its clauses, so that the best tool for a clause ranks high.

        Returns:
            Position -> score, the number of all matching tools, and the number of intents. An intent is a clause
            whose best tool matches at least half of it; clauses with the same best tool count once.
        """
        engine = self._engine
        queries = {term: engine.query(term, weight) for term, weight in parsed.weights.items()}
        surface = engine.surface_queries(parsed.surface_weights)
        if parsed.clauses:
            limit = max(limit, _MIN_CANDIDATES_WITH_CLAUSES)
        found, total = engine.best([*queries.values(), *surface.values()], limit, category, count=True)
        whole = self._name_boost.apply(found, parsed.weights)
        if not parsed.clauses or not whole:
            return whole, total, 1
        pooled: dict[int, float] = {}
        intents: set[int] = set()
        for clause in parsed.clauses:
            own = [queries[term] for term in clause.terms]
            own += [surface[form] for form in clause.surface_forms if form in surface]
            found, _ = engine.best(own, _MIN_CANDIDATES_PER_CLAUSE, category)
            scores = self._name_boost.apply(found, clause.terms)
            best = max(scores, key=lambda position: (scores[position], -position), default=None)
            if best is None:
                continue
            if best not in intents and explainer.clause_share(clause, best) >= _INTENT_SHARE_THRESHOLD:
                intents.add(best)
            # The square root lets a weaker clause compete, and keeps an empty one from winning.
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
            max(1, len(intents)),
        )
