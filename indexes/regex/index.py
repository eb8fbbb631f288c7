"""`RegexToolIndex`: search by regular expression or glob, and by words for any other query."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..lexical.empty_queries import NO_WORDS_REASON
from ..lexical.engine_errors import convert_engine_errors
from ..lexical.explain import Explainer
from ..lexical.query import parse_query
from ..lexical.tool_terms import shared_terms_cache
from ..lexical.vocabulary import Vocabulary
from ..protocols import ToolSearcher
from ..ranking.catalog import Catalog, Category
from ..ranking.scored_searcher import ScoredSearcher
from ..ranking.scores import CANDIDATES, Note, Scores
from ..reference import ToolReference
from ..response import Match
from .pattern import InvalidPatternError, QueryKind, compile_query, normalized_bytes, query_kind, strip_delimiters

__all__ = ["RegexToolIndex"]

_WHOLE_NAME_SCORE, _IN_NAME_SCORE, _IN_TEXT_SCORE = 3.0, 2.0, 1.0
_NAME_BONUS = 0.5
_MAX_TEXT_CHARACTERS = 8_192
_SEARCH_TIMEOUT_SECONDS = 1.0
"""Maximum time of one search. Only patterns that are slow on purpose reach it, with thousands of tools."""

_MATCHES_ALL = "{!r} matches all {} tools, so their order means little; use a pattern that only some tools match."


class RegexToolIndex:
    """Index that finds tools by a regular expression, a glob, or words. Case is ignored.

    A pattern ranks tools whose whole name matches first, then matches within the name, then matches within the
    description or search text. Matching takes linear time for every pattern (google-re2), so look-around and
    back-references are not supported. The response explains an unusable pattern, and a pattern that matches every tool.

    A query is read as follows:

    - A query with syntax that prose does not contain (``get_.*``, ``list|create``, ``^get``) is a pattern.
    - A word with ``*`` is a glob: ``*`` matches any characters except blanks, and ``?`` exactly one.
    - A word with ``?`` inside (``get_?ser``) is read as both.
    - A word with dots (``get.user``) is read as words, and tools that match it as a pattern rank first.
    - Any other query is words.

    Slashes, quotes or backquotes around a pattern (``/get_.*/i``) are ignored.

    Example:
        >>> from toolsearch.indexes import RegexToolIndex, ToolReference
        >>> searcher = RegexToolIndex().build([
        ...     ToolReference(name="get_user_data"),
        ...     ToolReference(name="get_weather", description="Current weather of a city"),
        ... ])
        >>> searcher.search("get_.*_data").names, searcher.search("get_*_data").names, searcher.search("weather").names
        (('get_user_data',), ('get_user_data',), ('get_weather',))
    """

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        """Return a searcher over exactly `tools`.

        Raises:
            DuplicateToolError: If two tools have the same name.
        """
        return RegexSearcher(tools, type(self).__name__)

    def __repr__(self) -> str:
        return "RegexToolIndex()"


class RegexSearcher(ScoredSearcher):
    """Searcher that `RegexToolIndex` builds. Immutable and thread-safe.

    Args:
        tools: The tools to search.
        search_type: The class name of the index, for the response.
    """

    def __init__(self, tools: Sequence[ToolReference], search_type: str) -> None:
        super().__init__(Catalog(tools), search_type)
        self._texts = [
            (
                normalized_bytes(tool.name),
                normalized_bytes(f"{tool.description}\n{tool.search_text}".strip()[:_MAX_TEXT_CHARACTERS]),
            )
            for tool in self._catalog.tools
        ]
        with convert_engine_errors("the tools could not be indexed"):
            self._documents = shared_terms_cache.get(self._catalog.tools)
        self._vocabulary = Vocabulary(self._documents)
        self._positions_by_name_term: dict[str, list[int]] = {}
        self._positions_by_term: dict[str, list[int]] = {}
        for position, document in enumerate(self._documents):
            for term in dict.fromkeys(document.name_field):
                self._positions_by_name_term.setdefault(term, []).append(position)
            for term in dict.fromkeys((*document.name_field, *document.text_field, *document.detail_field)):
                self._positions_by_term.setdefault(term, []).append(position)

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Score the tools for a query, to be fused with other scores."""
        text = strip_delimiters(query)
        kind = query_kind(text)
        if kind == "words":
            return self._by_words(query)
        try:
            found = self._by_pattern(text, kind, category)
        except InvalidPatternError as error:
            return Scores(note=Note("invalid_pattern", str(error)))
        if kind == "dotted" and found.values:
            return _merge(self._by_words(query), found)
        if kind in ("maybe_pattern", "dotted") and not found.values:
            return self._by_words(query)  # a string that is a pattern by accident, such as "a+b"
        return found

    def _by_pattern(self, shown: str, kind: QueryKind, category: Category | None) -> Scores:
        matcher = compile_query(shown, kind)
        deadline = time.perf_counter() + _SEARCH_TIMEOUT_SECONDS
        values: dict[int, float] = {}
        searched = range(len(self._texts)) if category is None else category.positions
        for position in searched:
            name, text = self._texts[position]
            if matcher.search(name) is not None:
                values[position] = _WHOLE_NAME_SCORE if matcher.fullmatch(name) is not None else _IN_NAME_SCORE
            elif text and matcher.search(text) is not None:
                values[position] = _IN_TEXT_SCORE
            if time.perf_counter() > deadline:
                raise InvalidPatternError(f"{shown!r} takes too long on so many tools; repeat less, or use words.")
        matches_anything = len(values) == len(searched) > 1 and matcher.search(b"") is not None

        def doubt(positions: Sequence[int]) -> str:
            if matches_anything or len(positions) < len(values) == len(searched):
                return _MATCHES_ALL.format(shown, len(values))
            return ""

        return Scores(
            values=values,
            explain=lambda position: self._matches_of(position, values, shown),
            doubt=doubt,
            note=None if values else Note("no_match", f"No name or description matches {shown!r}; try plain words."),
        )

    def _matches_of(self, position: int, values: dict[int, float], shown: str) -> tuple[Match, ...]:
        score = values.get(position)
        if score is None:
            return ()
        return (Match(shown, ("description",) if score == _IN_TEXT_SCORE else ("name",)),)

    def _by_words(self, query: str) -> Scores:
        """Score tools by the words of the query they have, weighted by rarity. A word in the name counts half more."""
        parsed = parse_query(query, self._vocabulary)
        explainer = Explainer(parsed, self._documents, self._vocabulary)
        if not parsed.answers:
            return Scores(note=Note("empty_query", NO_WORDS_REASON), doubt=explainer.doubt)
        values: dict[int, float] = {}
        for term, weight in parsed.weights.items():
            term_score = weight * self._vocabulary.idf[term]
            for position in self._positions_by_term[term]:
                values[position] = values.get(position, 0.0) + term_score
            for position in self._positions_by_name_term.get(term, ()):
                values[position] += _NAME_BONUS * term_score
        return Scores(values=values, explain=explainer.matches, doubt=explainer.doubt)


def _merge(words: Scores, matches: Scores) -> Scores:
    """Return the scores of both, with the tools that match the pattern first."""
    best = max(words.values.values(), default=1.0)
    raised = {position: words.values.get(position, 0.0) + best * value for position, value in matches.values.items()}

    def explain(position: int) -> tuple[Match, ...]:
        return matches.explain(position) + words.explain(position)

    return Scores(values={**words.values, **raised}, explain=explain)
