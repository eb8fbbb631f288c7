"""Execution of a batch of tool calls, with threads or with tasks."""

from .batch import arun_batch, run_batch

__all__ = ["arun_batch", "run_batch"]
