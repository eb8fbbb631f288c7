"""Execution of effects: batches of tool calls, with threads or with tasks, and functions that may block."""

from .batch import arun_batch, run_batch

__all__ = ["arun_batch", "run_batch"]
