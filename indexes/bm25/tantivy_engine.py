"""Tantivy in memory, asked only in terms: scores per tool, no query parser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import tantivy

from ..lexical.tool_terms import ToolTerms
from ..lexical.vocabulary import Vocabulary
from ..ranking.catalog import Category

__all__ = ["TermEngine"]

_LEAST_HEAP = 15_000_000
_HEAP_PER_TOOL = 8_000  # enough to hold the set in one segment, whose order is the order of the tools
_FIELDS = (("name", 1.6), ("text", 1.0), ("detail", 0.65))
_TIE = 0.2
_AS_WRITTEN = 0.5
_REMEMBERED = 2_048  # queries, which take longer to make than to look up


class TermEngine:
    """Holds the terms of a set of tools, and scores them by BM25 for weighted terms.

    A term counts by the IDF it has over whole tools, whichever field it is found in; of the fields it is found in
    the best counts, and a fifth of the others. What is found as it is written counts half as much again.
    """

    __slots__ = ("_schema", "_searcher", "_terms", "_vocabulary")

    def __init__(
        self, documents: Sequence[ToolTerms], categories: Sequence[Sequence[str]], vocabulary: Vocabulary
    ) -> None:
        self._vocabulary = vocabulary
        self._terms: dict[str, tantivy.Query] = {}
        builder = tantivy.SchemaBuilder().add_integer_field("position", fast=True)
        for field, _ in _FIELDS:
            builder = builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
        builder = builder.add_text_field("written", tokenizer_name="whitespace", index_option="freq")
        self._schema = builder.add_text_field("category", tokenizer_name="raw", index_option="basic").build()
        index = tantivy.Index(self._schema)
        # One thread: more make several segments, and the order of equal tools a matter of luck.
        writer = index.writer(max(_LEAST_HEAP, _HEAP_PER_TOOL * len(documents)), num_threads=1)
        try:
            for position, (terms, keys) in enumerate(zip(documents, categories, strict=True)):
                content = {
                    "position": position,
                    "name": " ".join(terms.name_field),
                    "text": " ".join(terms.text_field),
                    "detail": " ".join(terms.detail_field),
                    "written": terms.written,
                    "category": list(keys),
                }
                writer.add_document(tantivy.Document.from_dict(content, self._schema))
            writer.commit()
        finally:
            writer.wait_merging_threads()  # ends its threads, which would live as long as the writer
        index.reload()
        self._searcher = index.searcher()

    def query(self, term: str, weight: float) -> tantivy.Query:
        """Return the query for one term of the vocabulary, worth `weight` times its IDF."""
        known = self._terms.get(term)
        if known is None:
            if len(self._terms) >= _REMEMBERED:
                self._terms.clear()
            known = self._terms[term] = self._term(term)
        return known if weight == 1.0 else tantivy.Query.boost_query(known, weight)

    def _term(self, term: str) -> tantivy.Query:
        idf = self._vocabulary.idf[term]
        fields: list[tantivy.Query] = []
        for (field, field_weight), own_idf in zip(_FIELDS, self._vocabulary.field_idf(term), strict=True):
            if own_idf:
                found = tantivy.Query.term_query(self._schema, field, term, "freq")
                fields.append(tantivy.Query.boost_query(found, field_weight * idf / own_idf))
        return fields[0] if len(fields) == 1 else tantivy.Query.disjunction_max_query(fields, _TIE)

    def as_written(self, weights: Mapping[str, float]) -> dict[str, tantivy.Query]:
        """Return the queries for weighted words and pairs as they are written, those that no tool has left out."""
        return {
            written: tantivy.Query.boost_query(
                tantivy.Query.term_query(self._schema, "written", written, "freq"), _AS_WRITTEN * weight
            )
            for written, weight in weights.items()
            if self._searcher.doc_freq("written", written)
        }

    def best(
        self, queries: Iterable[tantivy.Query], limit: int, category: Category | None = None, count: bool = False
    ) -> tuple[dict[int, float], int | None]:
        """Return position -> score of the best tools for the sum of `queries`, and how many match in all."""
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
