"""BM25 scoring with an in-memory tantivy index. Queries are lists of terms; tantivy's query parser is not used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import tantivy

from ..lexical.tool_terms import ToolTerms
from ..lexical.vocabulary import Vocabulary
from ..ranking.catalog import Category

__all__ = ["TermEngine"]

_MIN_HEAP_BYTES = 15_000_000
_HEAP_BYTES_PER_TOOL = 8_000  # enough for a single segment, in which documents keep the order of the tools
_FIELD_WEIGHTS = (("name", 1.6), ("text", 1.0), ("detail", 0.65))
_TIE_BREAKER = 0.2
_SURFACE_WEIGHT = 0.5
_MAX_CACHED_QUERIES = 2_048


class TermEngine:
    """Scores tools by BM25 for weighted terms.

    Every field uses the IDF of a term over whole tools. A term counts by its best field plus a fifth of the others.
    A matching surface form (an unstemmed word or a pair of words) adds half of its weight.

    Args:
        documents: The terms of each tool.
        categories: The category keys of each tool.
        vocabulary: The vocabulary of the tools.
    """

    __slots__ = ("_schema", "_searcher", "_terms", "_vocabulary")

    def __init__(
        self, documents: Sequence[ToolTerms], categories: Sequence[Sequence[str]], vocabulary: Vocabulary
    ) -> None:
        self._vocabulary = vocabulary
        self._terms: dict[str, tantivy.Query] = {}
        builder = tantivy.SchemaBuilder().add_integer_field("position", fast=True)
        for field, _ in _FIELD_WEIGHTS:
            builder = builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
        builder = builder.add_text_field("surface", tokenizer_name="whitespace", index_option="freq")
        self._schema = builder.add_text_field("category", tokenizer_name="raw", index_option="basic").build()
        index = tantivy.Index(self._schema)
        # One thread: several threads make several segments, and then the order of equal tools varies.
        writer = index.writer(max(_MIN_HEAP_BYTES, _HEAP_BYTES_PER_TOOL * len(documents)), num_threads=1)
        try:
            for position, (terms, keys) in enumerate(zip(documents, categories, strict=True)):
                content = {
                    "position": position,
                    "name": " ".join(terms.name_field),
                    "text": " ".join(terms.text_field),
                    "detail": " ".join(terms.detail_field),
                    "surface": terms.surface_text,
                    "category": list(keys),
                }
                writer.add_document(tantivy.Document.from_dict(content, self._schema))
            writer.commit()
        finally:
            writer.wait_merging_threads()  # ends the writer's threads, which otherwise live as long as the writer
        index.reload()
        self._searcher = index.searcher()

    def query(self, term: str, weight: float) -> tantivy.Query:
        """Return the tantivy query for one term of the vocabulary, scored as `weight` times its IDF."""
        known = self._terms.get(term)
        if known is None:
            if len(self._terms) >= _MAX_CACHED_QUERIES:
                self._terms.clear()
            known = self._terms[term] = self._term_query(term)
        return known if weight == 1.0 else tantivy.Query.boost_query(known, weight)

    def _term_query(self, term: str) -> tantivy.Query:
        idf = self._vocabulary.idf[term]
        fields: list[tantivy.Query] = []
        for (field, field_weight), own_idf in zip(_FIELD_WEIGHTS, self._vocabulary.field_idf(term), strict=True):
            if own_idf:
                found = tantivy.Query.term_query(self._schema, field, term, "freq")
                fields.append(tantivy.Query.boost_query(found, field_weight * idf / own_idf))
        return fields[0] if len(fields) == 1 else tantivy.Query.disjunction_max_query(fields, _TIE_BREAKER)

    def surface_queries(self, weights: Mapping[str, float]) -> dict[str, tantivy.Query]:
        """Return a tantivy query for each weighted surface form that at least one tool has."""
        return {
            form: tantivy.Query.boost_query(
                tantivy.Query.term_query(self._schema, "surface", form, "freq"), _SURFACE_WEIGHT * weight
            )
            for form, weight in weights.items()
            if self._searcher.doc_freq("surface", form)
        }

    def best(
        self, queries: Iterable[tantivy.Query], limit: int, category: Category | None = None, count: bool = False
    ) -> tuple[dict[int, float], int | None]:
        """Score the tools for the sum of several queries.

        Args:
            queries: The tantivy queries.
            limit: The maximum number of tools to return.
            category: The category that the tools must have, or None.
            count: Whether to count all matching tools.

        Returns:
            Position -> score of the best tools, and the number of all matching tools or None.
        """
        should = [(tantivy.Occur.Should, query) for query in queries]
        query = should[0][1] if len(should) == 1 else tantivy.Query.boolean_query(should)
        if category is not None:
            within = tantivy.Query.term_query(self._schema, "category", category.key, "basic")
            inside = tantivy.Query.const_score_query(within, 0.0)
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, inside)])
        result = self._searcher.search(query, limit, count)
        hits = result.hits
        positions = cast("list[int]", self._searcher.fast_field_values("position", [address for _, address in hits]))
        total = cast("int | None", getattr(result, "count", None)) if count else None
        return {position: score for position, (score, _) in zip(positions, hits, strict=True)}, total
