"""Vocabulary of a set of tools: the rarity of each term, and spelling correction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ..text.spelling import Spelling
from .tool_terms import ToolTerms

__all__ = ["Vocabulary"]

_LARGE_CATALOG_TOOLS = 300
_COMMON_SHARE = 0.4


class Vocabulary:
    """Inverse document frequencies (IDF) of the terms of a set of tools, by field and overall. Immutable.

    Args:
        documents: The terms of each tool.

    Attributes:
        idf: Term -> IDF over whole tools, for every known term.
        single_idf: The IDF of a term that one tool has.
        unknown_idf: The IDF of a term that no tool has.
    """

    __slots__ = (
        "_by_frequency",
        "_common_below",
        "_documents",
        "_fields",
        "_spelling",
        "idf",
        "single_idf",
        "unknown_idf",
    )

    def __init__(self, documents: Sequence[ToolTerms]) -> None:
        names: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        details: Counter[str] = Counter()
        anywhere: Counter[str] = Counter()
        for document in documents:
            name, text, detail = set(document.name_field), set(document.text_field), set(document.detail_field)
            names.update(name)
            texts.update(text)
            details.update(detail)
            anywhere.update(name | text | detail)
        count = len(documents)
        by_frequency = [math.log(1 + (count - df + 0.5) / (df + 0.5)) for df in range(count + 1)]
        self.unknown_idf = by_frequency[0]
        self.single_idf = by_frequency[min(1, count)]
        self.idf: dict[str, float] = {term: by_frequency[df] for term, df in anywhere.items()}
        self._common_below = by_frequency[int(_COMMON_SHARE * count)] if count > _LARGE_CATALOG_TOOLS else 0.0
        self._by_frequency = by_frequency
        self._fields = (names, texts, details)
        self._documents = documents
        self._spelling: Spelling | None = None

    def field_idf(self, term: str) -> tuple[float, float, float]:
        """Return the IDF of a term within each field (name, text, detail), 0.0 where it does not occur."""
        name, text, detail = (self._by_frequency[df] if (df := field.get(term, 0)) else 0.0 for field in self._fields)
        return name, text, detail

    def is_common(self, term: str) -> bool:
        """Return whether a term is too common in a large catalog to be worth searching for."""
        return self.idf.get(term, self.unknown_idf) < self._common_below

    @property
    def spelling(self) -> Spelling:
        """The spelling correction for these tools. Built on first use; concurrent first uses build equal objects."""
        if self._spelling is None:
            self._spelling = Spelling(self.idf, (document.surface_text for document in self._documents))
        return self._spelling

    def mass(self, terms: Iterable[str]) -> float:
        """Return the sum of the IDFs of terms. An unknown term counts as the rarest."""
        return sum(self.idf.get(term, self.unknown_idf) for term in terms)
