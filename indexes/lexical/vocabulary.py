"""The words of one set of tools: how rare each is, and which are close to a word that is not among them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ..text.spelling import Spelling
from .tool_terms import ToolTerms

__all__ = ["Vocabulary"]

_MANY = 300
_COMMON = 0.4


class Vocabulary:
    """Document frequencies of a set of tools, by field and as a whole. Immutable once built."""

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
        """The IDF of a word no tool has."""
        self.single_idf = by_frequency[min(1, count)]
        """The IDF of a word one tool has."""
        self.idf: dict[str, float] = {term: by_frequency[df] for term, df in anywhere.items()}
        """term -> IDF over whole tools, for every term there is."""
        self._common_below = by_frequency[int(_COMMON * count)] if count > _MANY else 0.0
        self._by_frequency = by_frequency
        self._fields = (names, texts, details)
        self._documents = documents
        self._spelling: Spelling | None = None

    def field_idf(self, term: str) -> tuple[float, float, float]:
        """Return the IDF of `term` within each field (name, text, detail), 0.0 where it does not occur."""
        name, text, detail = (self._by_frequency[df] if (df := field.get(term, 0)) else 0.0 for field in self._fields)
        return name, text, detail

    def is_common(self, term: str) -> bool:
        """Whether of many tools so many have `term` that it tells them apart hardly, at the cost of visiting them."""
        return self.idf.get(term, self.unknown_idf) < self._common_below

    @property
    def spelling(self) -> Spelling:
        """The words of the tools as they are written. Made when first asked for; two threads at once make the same."""
        if self._spelling is None:
            self._spelling = Spelling(self.idf, (document.written for document in self._documents))
        return self._spelling

    def mass(self, terms: Iterable[str]) -> float:
        """Return the summed IDF of `terms`; unknown ones count as the rarest."""
        return sum(self.idf.get(term, self.unknown_idf) for term in terms)
