"""Text analysis for search: words, stems, clauses, quotations, synonyms and spelling correction."""

from __future__ import annotations

from .analysis import analyze, compound_term, terms, word_terms, words
from .clauses import CLAUSE_WEIGHT, split_clauses
from .folding import fold
from .identifiers import accented_key, identifier_key, identifiers_in
from .ngrams import missing_spans
from .quotes import quoted_values, remove_quoted
from .scripts import count_words, is_unspaced
from .spelling import Spelling
from .stemming import stem
from .stopwords import COURTESIES, FUNCTION_WORDS
from .synonyms import synonyms_of
from .word_pairs import adjacent_words, pair_term

__all__ = [
    "CLAUSE_WEIGHT",
    "COURTESIES",
    "FUNCTION_WORDS",
    "Spelling",
    "accented_key",
    "adjacent_words",
    "analyze",
    "compound_term",
    "count_words",
    "fold",
    "identifier_key",
    "identifiers_in",
    "is_unspaced",
    "missing_spans",
    "pair_term",
    "quoted_values",
    "remove_quoted",
    "split_clauses",
    "stem",
    "synonyms_of",
    "terms",
    "word_terms",
    "words",
]
