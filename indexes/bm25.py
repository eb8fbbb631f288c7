"""Search by words, ranked by BM25: tantivy in memory."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ..errors import ConfigurationError, IndexFailure
from .documents import TermsCache
from .query import ParsedQuery, parse
from .reference import ToolReference
from .response import Match, ToolSearchResponse
from .scoring import CANDIDATES, Catalog, Category, Note, Scores, respond
from .vocabulary import Vocabulary

__all__ = ["Bm25ToolIndex"]

_NAME_COVERAGE = 0.3
_CLAUSE_WEIGHT = 1.5
_CLAUSE_CANDIDATES = 200
_DOUBTED_BELOW = 0.5
_WORDS_NAMED = 8

_terms = TermsCache()


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
        if min_score is not None and not 0 <= min_score <= 1:
            raise ConfigurationError(f"min_score is a share between 0 and 1, not {min_score!r}")
        self._min_score = min_score or 0.0

    def build(self, tools: Sequence[ToolReference]) -> Bm25Searcher:
        """Return a searcher over exactly `tools`.

        Raises:
            DuplicateToolError: two tools have one name.
            IndexFailure: tantivy failed.
        """
        return Bm25Searcher(tools, self._min_score, type(self).__name__)

    def __repr__(self) -> str:
        return f"Bm25ToolIndex(min_score={self._min_score or None!r})"


class Bm25Searcher:
    """Searches one set of tools. Immutable and safe from many threads; made by `Bm25ToolIndex.build`."""

    def __init__(self, tools: Sequence[ToolReference], min_score: float, search_type: str) -> None:
        from .engine import TermEngine

        self._catalog = Catalog(tools)
        self._min_score = min_score
        self._search_type = search_type
        self._documents = _terms.of(self._catalog.tools)
        self._vocabulary = Vocabulary(self._documents)
        self._name_shares: list[tuple[tuple[str, float], ...] | None] = [None] * len(self._documents)
        with _failures("the tools could not be indexed"):
            self._engine = TermEngine(self._documents, self._catalog.keys, self._vocabulary)

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
        )

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Score the tools for a query; see `ScoredSearcher`."""
        parsed = parse(query, self._vocabulary)
        if not parsed.asked:
            return Scores(note=Note("empty_query", "The query holds no word or number; say what the tool should do."))
        if not parsed.weights:
            return Scores()
        with _failures("the search failed"):
            values, total = self._ranked(parsed, len(self._catalog) if self._min_score else limit, category)
        note: Note | None = None
        if self._min_score and values:
            values = {p: value for p, value in values.items() if self._share(parsed, p) >= self._min_score}
            total = len(values)
            least = f"{self._min_score:.0%}"
            note = Note("below_minimum", f"Tools match in part, but none matches {least} of the query; try fewer words.")
        return Scores(
            values=values,
            total=total,
            explain=lambda position: self._explained(parsed, position),
            doubt=lambda positions: self._doubt(parsed, positions),
            note=note,
        )

    def _ranked(
        self, parsed: ParsedQuery, limit: int, category: Category | None
    ) -> tuple[dict[int, float], int | None]:
        """Score the whole text, and if it has several clauses each of them, so that a tool for one can win a place."""
        engine = self._engine
        queries = {term: engine.query(term, weight) for term, weight in parsed.weights.items()}
        found, total = engine.best(queries.values(), limit, category, count=True)
        whole = self._with_names(found, parsed.weights)
        if not parsed.clauses or not whole:
            return whole, total
        pooled: dict[int, float] = {}
        for clause in parsed.clauses:
            found, _ = engine.best([queries[term] for term in clause], _CLAUSE_CANDIDATES, category)
            scores = self._with_names(found, set(clause))
            # The root lets a weaker clause win a place without letting an empty one win outright.
            scale = max(scores.values(), default=1.0) ** 0.5
            for position, score in scores.items():
                pooled[position] = max(pooled.get(position, 0.0), score / scale)
        highest, strongest = max(whole.values()), max(pooled.values(), default=1.0)
        return {
            position: whole.get(position, 0.0) / highest + _CLAUSE_WEIGHT * pooled.get(position, 0.0) / strongest
            for position in whole | pooled
        }, total

    def _with_names(self, found: Iterable[tuple[int, float]], terms: Container[str]) -> dict[int, float]:
        """Raise each score by how much of the tool's name the terms hold."""
        raised: dict[int, float] = {}
        for position, score in found:
            shares = self._name_shares[position] or self._name_share(position)
            raised[position] = score * (1 + sum([share for term, share in shares if term in terms]))
        return raised

    def _name_share(self, position: int) -> tuple[tuple[str, float], ...]:
        name = self._documents[position].name
        total = self._vocabulary.mass(name) or 1.0
        shares = tuple((term, _NAME_COVERAGE * self._vocabulary.idf[term] / total) for term in name)
        self._name_shares[position] = shares
        return shares

    def _explained(self, parsed: ParsedQuery, position: int) -> tuple[Match, ...]:
        """Return the terms of the query in one tool, those that counted most first."""
        parts = self._documents[position].parts()
        found: list[tuple[float, Match]] = []
        for term, weight in parsed.weights.items():
            fields = tuple(part for part, terms in parts if term in terms)
            if fields:
                found.append((weight * self._vocabulary.idf[term], Match(parsed.shown.get(term, term), fields)))
        return tuple(match for _, match in sorted(found, key=lambda item: (-item[0], item[1].term)))

    def _share(self, parsed: ParsedQuery, position: int) -> float:
        """Return the share of the query, or of the clause it fits best, that one tool matches."""
        known = self._documents[position].distinct
        return max(parsed.matched_share(known), *(parsed.matched_share(known, clause) for clause in parsed.asked_clauses))

    def _doubt(self, parsed: ParsedQuery, positions: Sequence[int]) -> str:
        known = frozenset().union(*(self._documents[position].distinct for position in positions))
        if parsed.matched_share(known) >= _DOUBTED_BELOW:
            return ""
        missing = parsed.missing(known)[:_WORDS_NAMED]
        return f"These match only part of the query; no tool shown has: {', '.join(missing)}."


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """Turn the engine's errors (ValueError and the like) into the library's own."""
    try:
        yield
    except (ValueError, RuntimeError, OSError, OverflowError) as error:
        raise IndexFailure(f"{what}: {error}") from error
