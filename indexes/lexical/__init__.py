"""Lexical search: the terms of tools and queries, their weights, and explanations of matches."""

from __future__ import annotations

from .empty_queries import NO_WORDS_REASON, ONLY_FUNCTION_WORDS_REASON, are_function_words, explain_empty_query
from .engine_errors import convert_engine_errors
from .explain import Explainer
from .query import Clause, ParsedQuery, parse_query
from .tool_terms import TermsCache, ToolTerms, analyze_tool, parameter_strings, shared_terms_cache
from .vocabulary import Vocabulary

__all__ = [
    "NO_WORDS_REASON",
    "ONLY_FUNCTION_WORDS_REASON",
    "Clause",
    "Explainer",
    "ParsedQuery",
    "TermsCache",
    "ToolTerms",
    "Vocabulary",
    "analyze_tool",
    "are_function_words",
    "convert_engine_errors",
    "explain_empty_query",
    "parameter_strings",
    "parse_query",
    "shared_terms_cache",
]
