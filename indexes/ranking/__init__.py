"""Ranking shared by all indexes: catalogs, scores, fusion, and the searchers that turn scores into responses."""

from .catalog import Catalog, Category
from .ranked_searcher import RankedSearcher
from .scored_searcher import ScoredSearcher
from .scores import CANDIDATES, Dense, Note, Scores

__all__ = ["CANDIDATES", "Catalog", "Category", "Dense", "Note", "RankedSearcher", "ScoredSearcher", "Scores"]
