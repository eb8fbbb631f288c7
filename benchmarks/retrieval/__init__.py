"""Retrieval benchmark: quality, speed and memory of indexes on labeled queries."""

from .contenders import Contender, index_contender
from .measure import FailedQuery, Measurement, measure_retrieval
from .metrics import Quality
from .peers import Search
from .queries import LabeledQuery, LabeledSet, load_labeled_set

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
