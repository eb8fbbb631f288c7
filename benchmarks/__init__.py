"""Benchmarks of tool search: retrieval measured from Python, and everything by the command `toolsearch bench`."""

from __future__ import annotations

from .retrieval import (
    Contender,
    FailedQuery,
    LabeledQuery,
    LabeledSet,
    Measurement,
    Quality,
    Search,
    index_contender,
    load_labeled_set,
    measure_retrieval,
)

__all__ = [
    "Contender",
    "FailedQuery",
    "LabeledQuery",
    "LabeledSet",
    "Measurement",
    "Quality",
    "Search",
    "index_contender",
    "load_labeled_set",
    "measure_retrieval",
]
