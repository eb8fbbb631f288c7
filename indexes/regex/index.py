"""Search by pattern: regular expressions and globs over names and descriptions, plain words otherwise."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..lexical.empty_queries import NO_WORDS_REASON
from ..lexical.engine_errors import convert_engine_errors
from ..lexical.explain import Explainer
from ..lexical.query import parse_query
from ..lexical.tool_terms import shared_terms_cache
from ..lexical.vocabulary import Vocabulary
from ..ranking.catalog import Catalog, Category
from ..ranking.respond import respond
from ..ranking.scores import CANDIDATES, Note, Scores
from ..reference import ToolReference
from ..response import Match, ToolSearchResponse
from .pattern import InvalidPatternError, Kind, compile_query, normalized_bytes, query_kind, strip_delimiters

__all__ = ["RegexToolIndex"]

_WHOLE_NAME, _IN_NAME, _IN_TEXT = 3.0, 2.0, 1.0
_NAME_BONUS = 0.5
_LONGEST_TEXT = 8_192
_SECONDS = 1.0
"""The time one search may take; only patterns made to be slow, on thousands of tools, come near it."""


_MATCHES_ALL = "{!r} matches all {} tools, so which come first says little; ask for what only some of them have."


class RegexToolIndex:
    """Finds tools by a regular expression, a glob, or plain words; case never matters.

    A pattern ranks a tool whose whole name it matches first, then matches within the name, then within description
    or search text. Matching takes time linear in the text, whatever the pattern (google-re2): there is no look-around
    and there are no back-references. A pattern that cannot be used is explained in the response, and so is one that
    matches every tool.

    How a query is read: with signs that nobody writes by chance (``get_.*``, ``list|create``, ``^get``) as a pattern;
    a word with ``*`` as a glob, in which ``*`` stands for any characters but blanks and ``?`` for one; a word with
    ``?`` inside (``get_?ser``) as both; a word with dots (``get.user``) as words and, ranked first, as a pattern; all
    else as words. Slashes, quotes or backquotes around a pattern (``/get_.*/i``) are no part of it.

    Example:
        >>> from toolsearch.indexes import RegexToolIndex, ToolReference
        >>> searcher = RegexToolIndex().build([
        ...     ToolReference(name="get_user_data"),
        ...     ToolReference(name="get_weather", description="Current weather of a city"),
        ... ])
        >>> searcher.search("get_.*_data").names, searcher.search("get_*_data").names, searcher.search("weather").names
        (('get_user_data',), ('get_user_data',), ('get_weather',))
    """

    def build(self, tools: Sequence[ToolReference]) -> RegexSearcher:
        """Return a searcher over exactly `tools`.

        Raises:
            DuplicateToolError: two tools have one name.
        """
        return RegexSearcher(tools, type(self).__name__)

    def __repr__(self) -> str:
        return "RegexToolIndex()"


class RegexSearcher:
    """Searches one set of tools. Immutable and safe from many threads; made by `RegexToolIndex.build`."""

    def __init__(self, tools: Sequence[ToolReference], search_type: str) -> None:
        self._catalog = Catalog(tools)
        self._search_type = search_type
        self._texts = [
            (
                normalized_bytes(tool.name),
                normalized_bytes(f"{tool.description}\n{tool.search_text}".strip()[:_LONGEST_TEXT]),
            )
            for tool in self._catalog.tools
        ]
        with convert_engine_errors("the tools could not be indexed"):
            self._documents = shared_terms_cache.get(self._catalog.tools)
        self._vocabulary = Vocabulary(self._documents)
        self._in_name: dict[str, list[int]] = {}
        self._anywhere: dict[str, list[int]] = {}
        for position, document in enumerate(self._documents):
            for term in dict.fromkeys(document.name_field):
                self._in_name.setdefault(term, []).append(position)
            for term in dict.fromkeys((*document.name_field, *document.text_field, *document.detail_field)):
                self._anywhere.setdefault(term, []).append(position)

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
        text = strip_delimiters(query)
        kind = query_kind(text)
        if kind == "words":
            return self._by_words(query)
        try:
            found = self._by_pattern(text, kind, category)
        except InvalidPatternError as error:
            return Scores(note=Note("invalid_pattern", str(error)))
        if kind == "dotted" and found.values:
            return _raised(self._by_words(query), found)
        if kind in ("maybe_pattern", "dotted") and not found.values:
            return self._by_words(query)  # text that happens to be a pattern, such as "a+b"
        return found

    def _by_pattern(self, shown: str, kind: Kind, category: Category | None) -> Scores:
        matcher = compile_query(shown, kind)
        deadline = time.perf_counter() + _SECONDS
        values: dict[int, float] = {}
        searched = range(len(self._texts)) if category is None else category.positions
        for position in searched:
            name, text = self._texts[position]
            if matcher.search(name) is not None:
                values[position] = _WHOLE_NAME if matcher.fullmatch(name) is not None else _IN_NAME
            elif text and matcher.search(text) is not None:
                values[position] = _IN_TEXT
            if time.perf_counter() > deadline:
                raise InvalidPatternError(f"{shown!r} takes too long on so many tools; repeat less, or use words.")
        tells_nothing = len(values) == len(searched) > 1 and matcher.search(b"") is not None

        def doubt(positions: Sequence[int]) -> str:
            if tells_nothing or len(positions) < len(values) == len(searched):
                return _MATCHES_ALL.format(shown, len(values))
            return ""

        return Scores(
            values=values,
            explain=lambda position: self._explained(position, values, shown),
            doubt=doubt,
            note=None if values else Note("no_match", f"No name or description matches {shown!r}; try plain words."),
        )

    def _explained(self, position: int, values: dict[int, float], shown: str) -> tuple[Match, ...]:
        score = values.get(position)
        if score is None:
            return ()
        return (Match(shown, ("description",) if score == _IN_TEXT else ("name",)),)

    def _by_words(self, query: str) -> Scores:
        """Rank by how much of the query a tool has, words weighed by rarity; one in the name counts half more."""
        parsed = parse_query(query, self._vocabulary)
        explainer = Explainer(parsed, self._documents, self._vocabulary)
        if not parsed.answers:
            return Scores(note=Note("empty_query", NO_WORDS_REASON), doubt=explainer.doubt)
        values: dict[int, float] = {}
        for term, weight in parsed.weights.items():
            worth = weight * self._vocabulary.idf[term]
            for position in self._anywhere[term]:
                values[position] = values.get(position, 0.0) + worth
            for position in self._in_name.get(term, ()):
                values[position] += _NAME_BONUS * worth
        return Scores(values=values, explain=explainer.matches, doubt=explainer.doubt)


def _raised(words: Scores, matches: Scores) -> Scores:
    """Return what words found with what a pattern matches before all else."""
    best = max(words.values.values(), default=1.0)
    raised = {position: words.values.get(position, 0.0) + best * value for position, value in matches.values.items()}

    def explain(position: int) -> tuple[Match, ...]:
        return matches.explain(position) + words.explain(position)

    return Scores(values={**words.values, **raised}, explain=explain)
