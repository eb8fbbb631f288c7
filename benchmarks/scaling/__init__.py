"""Scaling benchmark: speed and memory by the size of the catalog."""
