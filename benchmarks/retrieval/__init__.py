"""Retrieval benchmark: quality, speed and memory of indexes on labeled queries."""
