"""Benchmarks of tool search: retrieval measured from Python, and everything by the command `toolsearch bench`."""

from __future__ import annotations

from .retrieval.contenders import Contender, index_contender
from .retrieval.measure import FailedQuery, Measurement, measure_retrieval
from .retrieval.metrics import Quality
from .retrieval.peers import Search
from .retrieval.queries import LabeledQuery, LabeledSet, load_labeled_set

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
